"""How rules are written down and run.

A rule is a small function with a docstring (why it exists) that yields problems; its id, title and severity stand in
the decorator. What it looks at is one of five things, and the decorator says which: an intent before it is composed,
the catalog, one component of an Application in its environments, all Applications together, or the files of the
checkout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sailplan.model import Catalog, Document, Finding, Position, Severity
from sailplan.rules.view import Placed, View


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding without its rule: see `Finding` for the fields."""

    position: Position
    field: str
    message: str
    given: str = ""
    allowed: str = ""
    nearest: str = ""
    fix: str = ""


Problems = Iterator[Problem]
Check = Callable[..., Iterable[Problem]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        id: stable, `SP201`; the hundreds say what about.
        title: a few words.
        severity: error, warning or note.
        reason: why it exists, one paragraph.
        subject: what its function looks at: intent, catalog, component, engine (a component that is a model we serve),
            all, checkout; or elsewhere, when another module finds it (the reader of YAML, the schema, the renderer).
        check: the function; None for those found elsewhere.
    """

    id: str
    title: str
    severity: Severity
    reason: str
    subject: str
    check: Check | None = None

    def findings(self, *subject: Any) -> Iterator[Finding]:
        """Run the rule."""
        if self.check is None:
            return
        for problem in self.check(*subject):
            yield Finding(
                self.id,
                self.severity,
                problem.position,
                problem.field,
                problem.message,
                problem.given,
                problem.allowed,
                problem.nearest,
                problem.fix,
            )


RULES: dict[str, Rule] = {}
"""Every rule by id; filled while the modules of this package are imported."""


def intent_rule(id: str, title: str, severity: Severity = "error") -> Callable[[Check], Check]:
    """Register a rule `(catalog, app) -> problems` about an intent that is not composed yet."""
    return _register(id, title, severity, "intent")


def catalog_rule(id: str, title: str, severity: Severity = "error") -> Callable[[Check], Check]:
    """Register a rule `(catalog) -> problems` about presets and environments."""
    return _register(id, title, severity, "catalog")


def component_rule(id: str, title: str, severity: Severity = "error", engine: bool = False) -> Callable[[Check], Check]:
    """Register a rule `(view, placed) -> problems` about one component; with `engine` only about models we serve."""
    return _register(id, title, severity, "engine" if engine else "component")


def fleet_rule(id: str, title: str, severity: Severity = "error") -> Callable[[Check], Check]:
    """Register a rule `(view) -> problems` about all Applications together."""
    return _register(id, title, severity, "all")


def checkout_rule(id: str, title: str, severity: Severity = "error") -> Callable[[Check], Check]:
    """Register a rule `(root) -> problems` about definitions and generated files."""
    return _register(id, title, severity, "checkout")


def found_elsewhere(id: str, title: str, reason: str, severity: Severity = "error") -> None:
    """Register a rule that another module finds, so that it is listed."""
    RULES[id] = Rule(id, title, severity, reason, "elsewhere")


def run(subject: str, *what: Any) -> Iterator[Finding]:
    """The findings of all rules about one subject."""
    for rule in RULES.values():
        if rule.subject == subject:
            yield from rule.findings(*what)


def _register(id: str, title: str, severity: Severity, subject: str) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        if id in RULES:
            raise ValueError(f"two rules are called {id}")
        RULES[id] = Rule(id, title, severity, " ".join((check.__doc__ or "").split()), subject, check)
        return check

    return register


__all__ = [
    "RULES",
    "Catalog",
    "Document",
    "Placed",
    "Problem",
    "Problems",
    "Rule",
    "View",
    "catalog_rule",
    "checkout_rule",
    "component_rule",
    "fleet_rule",
    "found_elsewhere",
    "intent_rule",
    "run",
]
