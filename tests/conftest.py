"""What all tests share: in CI a skipped test is a failed test.

A skip is right on a person's machine that lacks something; in CI it is a check that silently did not happen.
`--allow-skips` says that this run knows.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no finding, and what CI tries today it tries tomorrow.
settings.register_profile(
    "sailplan",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("CI") == "true",
)
settings.load_profile("sailplan")

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

ALLOW = pytest.StashKey[bool]()

FIGURE = "figure"
"""Name of the property of a test's report that holds what it measured."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--allow-skips", action="store_true", help="let tests skip, in CI too")


def pytest_configure(config: pytest.Config) -> None:
    # Whoever starts the tests in the background makes them, and all they start, deaf to ^C, which some tests send.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.stash[ALLOW] = os.environ.get("CI") != "true" or bool(config.getoption("--allow-skips"))


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Take down what a test measured; it is printed at the end, whichever process the test ran in."""
    return lambda text: record_property(FIGURE, text)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [one for found in terminalreporter.stats.values() for one in found]
    figures = [
        text
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, text in report.user_properties
        if name == FIGURE
    ]
    if figures:
        terminalreporter.section("figures")
        terminalreporter.write_line("\n".join(figures))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _judged(item.config, (yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _judged(collector.config, (yield))


def _judged(config: pytest.Config, report: Report) -> Report:
    """Turn a skip into a failure. An expected failure (xfail) is reported as skipped too and stays what it is."""
    if report.skipped and not hasattr(report, "wasxfail") and not config.stash[ALLOW]:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where everything must run (--allow-skips lets it): {reason}"
    return report
