"""The beginning of a trait: its definition, its example, and the table that its tests read.

It puts one annotation on the pods of its component; all else that the house rules ask of a definition is there.
"""

from __future__ import annotations

import re

from sailplan.errors import UsageError
from sailplan.files import KINDS
from sailplan.model import EDGE, ENGINE
from sailplan.scalars import plain

LONGEST = 40
"""Characters of a name. Objects on the hub add a version to it, and have 63."""

_FORM = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")

_MARKS = {ENGINE: "oam.ai/served-name", EDGE: "oam.ai/edge"}
"""Annotation by which a workload is known to be of a component."""

_ARTICLES = {ENGINE: "a", EDGE: "an"}

_DEFINITION = '''"NAME": {
	type: "trait"
	annotations: {}
	labels: {}
	description: "Notes on the pods what nobody has written down yet; say here what it is for."
	attributes: {
		version: "1.0.0"
		// Patches of the pod template roll pods by themselves; true would do it for other objects of the trait too.
		podDisruptive: false
		appliesToWorkloads: ["deployments.apps"]
		status: {
			// Whether the pods are up is the component's health. With objects of its own, look at context.outputs.
			healthPolicy: #"""
				isHealth: true
				"""#
			customStatus: #"""
				message: "NAME is attached"
				"""#
		}
	}
}

template: {
	_isOurs: context.output.metadata.annotations["MARK"] != _|_
	_there:  context.output.spec.template.metadata.annotations["oam.ai/NAME"] != _|_
	errs: [
		if !_isOurs {"NAME goes with ARTICLE COMPONENT component; this workload is none"},
		if _there {"NAME is attached twice"},
	]

	patch: spec: template: metadata: annotations: "oam.ai/NAME": parameter.note

	parameter: close({
		// +usage=Text of the annotation
		note: *"on" | =~"\\\\S"
	})
}
'''

_CASES = """cases:
  minimal:
    properties: {}
    objects: []
    expect:
      Deployment/model: {spec: {template: {metadata: {annotations: {oam.ai/NAME: "on"}}}}}
  full:
    properties: {note: "mine"}
    objects: []
    expect:
      Deployment/model: {spec: {template: {metadata: {annotations: {oam.ai/NAME: "mine"}}}}}

refused:
  attached twice:
    before: {NAME: {}}
    says: ["NAME is attached twice"]
  not its component:
    workload: plain
    says: ["NAME goes with ARTICLE COMPONENT component; this workload is none"]

bounds:
  note: {accepted: ["on", " x"], refused: ["", " ", 1, true, null]}

status:
  attached:
    healthy: true
    message: NAME is attached
"""

_EXAMPLE = """# Say here what the example shows, in a sentence or two.
apiVersion: "core.oam.dev/v1beta1"
kind: "Application"
metadata:
  name: "example"
  namespace: "default"
spec:
  components:
    - name: "example"
      type: "COMPONENT"
      properties:
PROPERTIES
      traits:
        - type: "NAME"
          properties:
            note: "an example"
"""

_PROPERTIES = {
    ENGINE: """        model:
          repository: "Qwen/Qwen2.5-Coder-1.5B"
          revision: "df3ce67c0e24480f20468b6ef2894622d69eb73b\"""",
    EDGE: """        backendURL: "http://backend.llm.svc:8000/v1"
        model: "backend\"""",
}


def files(name: str, component: str = ENGINE) -> dict[str, str]:
    """Text of each file of a new trait, by its path below the checkout; the definition first.

    Args:
        name: kebab-case, at most 40 characters.
        component: the definition of the components that it goes with.

    Raises:
        UsageError: the name or the component is none.
    """
    if not _FORM.fullmatch(name) or len(name) > LONGEST:
        form = f"lower-case letters, digits and dashes, starting with a letter, at most {LONGEST} characters"
        raise UsageError(f"{name} is no name for a definition", form)
    if name in {kind.casefold() for kind in KINDS}:
        raise UsageError(f"{name} is no name for a definition", "a kind of document has it: see `sailplan schema`")
    if (read := plain(name)).value != name or read.problem:
        reason = "YAML readers take it for something else than text, where it stands without quotes"
        raise UsageError(f"{name} is no name for a definition", reason)
    if component not in _MARKS:
        raise UsageError(f"there are no traits for {component} components", f"there are: {', '.join(_MARKS)}")
    return {
        f"definitions/trait/{name}.cue": _filled(_DEFINITION, name, component),
        f"definitions/examples/{name}.yaml": _filled(_EXAMPLE, name, component),
        f"tests/definitions/cases/{name}.yaml": _filled(_CASES, name, component),
    }


def _filled(text: str, name: str, component: str) -> str:
    text = text.replace("PROPERTIES", _PROPERTIES[component]).replace("COMPONENT", component)
    return text.replace("ARTICLE", _ARTICLES[component]).replace("MARK", _MARKS[component]).replace("NAME", name)
