"""Rules that other modules find: the reader of YAML, the schema, the renderer. They stand here to be listed."""

from __future__ import annotations

from sailplan.rules.registry import found_elsewhere

found_elsewhere("SP001", "unknown key", "Every map of every document is closed: a misspelt key would change nothing.")
found_elsewhere(
    "SP002", "value of the wrong type", "Text, a number, true or false, a list or a map, as the schema says."
)
found_elsewhere("SP003", "value not allowed", "A range, a form or a choice that the schema gives.")
found_elsewhere("SP004", "key missing", "What the schema wants and the document does not have.")
found_elsewhere("SP005", "not YAML", "Syntax, tabs, tags, keys that are no text.")
found_elsewhere("SP006", "key written twice", "Readers of YAML take the last one, and nobody notices.")
found_elsewhere(
    "SP007",
    "value that readers take differently",
    "Without quotes, 5e10, 012, no or a date is text to one reader of YAML and a number, false or a date to another.",
)
found_elsewhere("SP008", "key without a value", "An empty value is nothing at all: neither an empty map nor a default.")
found_elsewhere("SP009", "file that cannot be read", "Missing, empty, too large, not UTF-8, no ordinary file.")
found_elsewhere(
    "SP010", "document in the wrong place", "A file is named as its document, and its folder says the kind."
)
found_elsewhere("SP011", "too deep or too large", "No document of ours needs it, and readers end on it.")
found_elsewhere(
    "SP302",
    "parameter that a definition refuses",
    "Definitions hold more than the schema knows. `render` and `check --render` ask the real engine, and show what it "
    "refuses where the value was written.",
)
found_elsewhere(
    "SP606",
    "pinned version of a definition that is not here",
    "Rendering with another version than the pinned one would show objects that the hub does not make.",
)
found_elsewhere(
    "SP607",
    "definition that is not CUE",
    "Nothing can be generated from any definition while cue cannot read one of them, and a hub would refuse it.",
)
found_elsewhere(
    "SP902",
    "committed Application out of date",
    "What is delivered is the committed application.yaml, so it must be what its intent composes to.",
)
found_elsewhere(
    "SP701", "definition without a version", "Applications pin versions, and a hub keeps each one for good."
)
found_elsewhere(
    "SP702",
    "definition of somebody else",
    "Publishing over a hub's definition of the same name would change what others run.",
)
found_elsewhere(
    "SP703",
    "published version with other content",
    "What Applications pinned must stay what it was, so content changes only with the version.",
)
found_elsewhere("SP704", "version lower than the hub's", "An unpinned type takes what was applied last.")
found_elsewhere(
    "SP705",
    "parameter that takes less",
    "Traits are unpinned: a new version must take all that the published one took, or it is a new name.",
)
found_elsewhere(
    "SP706",
    "Application that would no longer render",
    "A new version of a trait reaches every Application at its next edit, so all are rendered before it is published.",
)
found_elsewhere("SP707", "definition that vela refuses", "It would be refused on the hub, too.")
found_elsewhere("SP801", "hub without KubeVela", "The hub is the cluster that runs it.")
found_elsewhere("SP802", "KubeVela too old", "Definitions and policies are measured with one version, and later ones.")
found_elsewhere("SP803", "KubeVela's own definition missing", "Composed Applications use its policies and steps.")
found_elsewhere(
    "SP804", "definition not published", "An Application with a type that the hub lacks does not even start."
)
found_elsewhere(
    "SP805",
    "prerequisite missing in a cluster",
    "CRDs, namespaces, secrets, claims, gateways, GPU labels: delivery would stop there, or wait for good.",
)
found_elsewhere("SP806", "cluster that does not answer", "Nothing can be delivered there.")
found_elsewhere(
    "SP807",
    "KubeVela without time to judge",
    "Its admission takes seconds of processor time for a large Application; `vela up` fails when it does not get them.",
    "warning",
)
found_elsewhere("SP903", "committed Application that is none", "It is what delivery applies.")
