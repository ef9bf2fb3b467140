"""What `podrunner` says to a configuration that cannot work, and that it then leaves nothing behind."""

from __future__ import annotations

import base64
import re
import ssl
import subprocess
from pathlib import Path

import pytest
import yaml

from podrunner.cli import command, main

TOKEN = "a-token-that-nobody-may-see"


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and words of a run that must not begin."""
    try:
        code = main(arguments)
    except SystemExit as error:
        code = int(error.code or 0)
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert TOKEN not in said
    return code, said


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Any certificate at all, as a kubeconfig has it."""
    folder = tmp_path_factory.mktemp("authority")
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    made += ["-subj", "/CN=x", "-days", "1", "-keyout", str(folder / "key"), "-out", str(folder / "crt")]
    subprocess.run(made, check=True, capture_output=True, timeout=60)
    text = (folder / "crt").read_text()
    assert ssl.PEM_cert_to_DER_cert(text)
    return base64.b64encode(text.encode()).decode()


def kubeconfig(folder: Path, authority: str, server: str) -> str:
    """A file that names a server."""
    cluster = {"server": server, "certificate-authority-data": authority}
    data = {
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(data))
    return str(folder / "kubeconfig")


@pytest.mark.parametrize(
    ("server", "code", "word"),
    [
        ("nonsense", 1, "server 'nonsense' is no https://HOST:PORT"),
        ("https://127.0.0.1:99999", 1, "is no https://HOST:PORT"),
        ("https://127.0.0.1:many", 1, "Invalid port"),
        ("file:///etc/passwd", 1, "is no https://HOST:PORT"),
        ("https://127.0.0.1:1", 4, "does not answer"),
    ],
)
def test_servers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], authority: str, server: str, code: int, word: str
) -> None:
    config = kubeconfig(tmp_path, authority, server)
    got, said = refused(capsys, "--kubeconfig", config, "--state", str(tmp_path / "state"))
    assert got == code
    assert word in said


@pytest.mark.parametrize(
    ("more", "code", "word"),
    [
        (["--most", "0"], 2, "'0' is no whole number from 1 to 1000"),
        (["--most", "many"], 2, "'many' is no whole number"),
        (["--back-off", "nan"], 2, "'nan' is no number of seconds"),
        (["--back-off", "-1"], 2, "'-1' is no number of seconds"),
        (["--images", "{folder}/none.yaml"], 1, "cannot read the map of images"),
        (["--images", "{folder}/text.yaml"], 1, "no command that is a list of words"),
    ],
)
def test_options(tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], code: int, word: str) -> None:
    (tmp_path / "text.yaml").write_text("a: {command: python}\n")
    words = [one.format(folder=tmp_path) for one in more]
    got, said = refused(capsys, "--kubeconfig", "none", "--state", str(tmp_path / "state"), *words)
    assert got == code
    assert word in said
    assert not (tmp_path / "state").exists()


def test_a_command_beside_the_pods_leaves_none_of_its_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", TOKEN)
    (tmp_path / "hosts").write_text("127.0.0.1 localhost\n")
    argv = command(tmp_path / "hosts", ["true"], once=True)
    files = list((tmp_path / "exec").rglob("*.json"))
    assert [TOKEN in file.read_text() for file in files] == [True]
    assert [file.stat().st_mode & 0o077 for file in files] == [0]
    subprocess.run(argv, capture_output=True, timeout=60, check=False)  # 125 where there are no namespaces
    assert not [file for file in files if file.exists()]


def test_a_state_that_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine")
    for state in ("file", "file/below"):
        got, said = refused(capsys, "--kubeconfig", "none", "--state", str(tmp_path / state))
        assert got == 1
        assert re.search("--state .*/file.*: (File exists|Not a directory)", said)
    assert (tmp_path / "file").read_text() == "mine"
