"""A program out of a Debian package: unpacked and never installed, and told in words where it cannot be had."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.toolchain.conftest import Machine

from toolchain import BuildFailed, Missing, ensure, find, locate, pins

PROMETHEUS = pins.tool("prometheus")

# `download` puts a package into the working folder; FAKE_LISTS=missing makes it fail until `update` was called.
APT = r"""#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/apt-calls"
case "$*" in
*update*) touch "$here/updated" ;;
*download*) [ -e "$here/no-lists" ] && [ ! -e "$here/updated" ] && { echo "E: Unable to locate package"; exit 100; }
    echo package > prometheus_2.0_amd64.deb ;;
esac
"""
DPKG = r"""#!/bin/sh
mkdir -p "$3/usr/bin"
printf '#!/bin/sh\necho "prometheus, version 2.99.1+ds (branch: x)"\n' > "$3/usr/bin/prometheus"
chmod +x "$3/usr/bin/prometheus"
"""


@pytest.fixture
def debian(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with a Debian's tools, and no program of Debian's on PATH."""
    monkeypatch.delenv("SAILPLAN_PROMETHEUS", raising=False)
    for name, text in (("apt-get", APT), ("dpkg", DPKG)):
        (machine.bin / name).write_text(text, encoding="utf-8")
        (machine.bin / name).chmod(0o755)
    monkeypatch.setattr(locate, "on_path", lambda _: None)
    return machine


def calls(machine: Machine) -> list[str]:
    return (machine.bin / "apt-calls").read_text(encoding="utf-8").splitlines()


def test_it_is_unpacked_once(debian: Machine) -> None:
    with pytest.raises(Missing):
        find("prometheus")
    built = ensure("prometheus")
    assert built == ensure("prometheus") == find("prometheus") == locate.binary(PROMETHEUS)
    assert built.resolve().is_relative_to(debian.cache)
    assert [line.split()[-2:] for line in calls(debian)] == [["download", "prometheus"]]
    assert list(built.parent.rglob("*.deb")) == []
    assert debian.leftovers() == []


def test_a_machine_without_lists_gets_lists_of_our_own(debian: Machine) -> None:
    (debian.bin / "no-lists").touch()
    built = ensure("prometheus")
    _, update, download = calls(debian)
    assert update.endswith(" update")
    assert "Dir::State::lists=" in update
    assert "Dir::State::lists=" in download
    assert not list(Path(built.parent).rglob("lists"))


def test_where_there_is_no_debian(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locate, "on_path", lambda _: None)
    monkeypatch.delenv("SAILPLAN_PROMETHEUS", raising=False)
    monkeypatch.setattr("toolchain.deb.shutil.which", lambda _: None)
    with pytest.raises(BuildFailed) as error:
        ensure("prometheus")
    assert "no apt-get here" in error.value.message
    assert "SAILPLAN_PROMETHEUS" in error.value.hint
    assert machine.leftovers() == []
