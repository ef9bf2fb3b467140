"""Checks documents against the CUE schema in `catalog/schema/`.

CUE decides whether a document is right. Of a document that it refuses, `wording` says all that is wrong, in a person's
words, with the JSON Schema that is made from the same CUE. Documents that were right once are remembered.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sailplan.catalog import worst_first
from sailplan.generated import generate, json_schema, package, stale, write
from sailplan.model import Catalog, Document, Finding
from sailplan.toolbox import cue, proc

__all__ = ["documents", "generate", "json_schema", "stale", "validate", "validate_documents", "write"]

CHUNK = 500
"""Documents in one run of cue: two runs at a time use two cores, and each stays under 300 MB (measured)."""

ROUNDS = 4
"""How often what hides behind known mistakes is looked for; each round finds another sort of mistake."""

_BUNDLE = """package catalog

#Kinds: {
	Model: #Model, Edge: #Edge, Capability: #Capability, Environment: #Environment, App: #App
	GPUClasses: #GPUClasses, Images: #Images, APIs: #APIs
}
#Bundle: [Kind=string]: [string]: #Kinds[Kind]
"""

Refused = Mapping[int, Sequence[cue.Refusal]]
"""What cue refuses, by the document's place in a list; paths are inside the document."""


def validate(catalog: Catalog, extra: Sequence[Document] = ()) -> list[Finding]:
    """What is wrong with the documents of a catalog, and with further ones, by the schema of that catalog.

    Args:
        catalog: all its documents are checked.
        extra: documents from elsewhere, such as an intent on stdin.

    Raises:
        ToolError: cue is missing, or the schema itself is broken.
    """
    return validate_documents(Path(catalog.root), [*documents(catalog), *extra])


def documents(catalog: Catalog) -> Iterator[Document]:
    """Every document of a catalog."""
    for group in (catalog.models, catalog.edges, catalog.capabilities, catalog.environments, catalog.apps):
        yield from group.values()
    yield from (single for single in (catalog.gpus, catalog.images, catalog.apis) if single)
    yield from catalog.duplicates


def validate_documents(root: Path, wanted: Sequence[Document]) -> list[Finding]:
    """As `validate`, for any documents.

    Args:
        root: the checkout whose schema counts.
        wanted: the documents.
    """
    from sailplan.remembered import Remembered

    schema = package(root)
    remembered = Remembered("valid", [cue.identity(), _BUNDLE, *schema.values()])
    texts = [json.dumps({document.kind: document.data}, separators=(",", ":")) for document in wanted]
    new = [document for document, text in zip(wanted, texts, strict=True) if text not in remembered]
    refused = _refused(schema, new) if new else {}
    bad = {id(new[place]) for place in refused}
    remembered.add(text for document, text in zip(wanted, texts, strict=True) if id(document) not in bad)
    return worst_first(_explained(schema, new, refused)) if refused else []


def _refused(schema: Mapping[str, str], wanted: Sequence[Document]) -> Refused:
    """What cue refuses, by place in `wanted`."""
    chunks = [range(start, min(start + CHUNK, len(wanted))) for start in range(0, len(wanted), CHUNK)]

    def run(places: Iterable[int]) -> Refused:
        found: dict[int, Sequence[cue.Refusal]] = {}
        left = list(places)
        while left:
            # A mistake of one sort hides mistakes of another in the whole run: go on with the others until all is well.
            refusals = _vet(schema, wanted, left)
            found.update(refusals)
            left = [place for place in left if place not in found] if refusals else []
        return found

    return {place: refusals for found in proc.run_all(run, chunks) for place, refusals in found.items()}


def _vet(schema: Mapping[str, str], wanted: Sequence[Document], places: Iterable[int]) -> Refused:
    bundle: dict[str, dict[str, Any]] = {}
    for place in places:
        bundle.setdefault(wanted[place].kind, {})[f"d{place}"] = wanted[place].data
    found: dict[int, list[cue.Refusal]] = {}
    for refusal in cue.vet({**schema, "bundle.cue": _BUNDLE}, "#Bundle", json.dumps(bundle)):
        place = int(str(refusal.path[1])[1:])
        found.setdefault(place, []).append(cue.Refusal(refusal.path[2:], refusal.messages))
    return found


def _explained(schema: Mapping[str, str], wanted: Sequence[Document], refused: Refused) -> list[Finding]:
    """All that is wrong with the refused documents.

    What `wording` cannot see and CUE hides behind other mistakes comes out once those are taken away.
    """
    from sailplan.jsonschema import convert
    from sailplan.parameters import writable
    from sailplan.wording import covers, explain, without

    schemas = convert(cue.openapi({name: writable(text) for name, text in schema.items()}))
    said: dict[int, list[Finding]] = {
        place: explain(wanted[place], refusals, schemas) for place, refusals in refused.items()
    }
    for _ in range(ROUNDS):
        places = list(refused)
        rest = [replace(wanted[place], data=without(wanted[place].data, said[place])) for place in places]
        refused = {places[index]: refusals for index, refusals in _refused(schema, rest).items()}
        late = [
            (place, finding)
            for place, refusals in refused.items()
            for finding in explain(wanted[place], refusals, schemas)
            if not any(covers(other.field, finding.field) for other in said[place])
        ]
        for place, finding in late:
            said[place].append(finding)
        if not late:
            break
    return [finding for findings in said.values() for finding in findings]
