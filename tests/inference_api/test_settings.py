"""Settings: what is wrong is named, with what was given and what is allowed; exit code 2."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from facade.edge import ROOT
from facade.fake import LIMIT
from inference_api.settings import Settings, SettingsError, load

URL = {"BACKEND_URL": "http://model.llm.svc:8000/v1/"}


def test_defaults(tmp_path: Path) -> None:
    settings = load(URL | {"MODEL": "", "PORT": ""})
    assert (settings.backend_url, settings.model, settings.port) == ("http://model.llm.svc:8000/v1", None, 8080)
    assert settings.host == "127.0.0.1"


def test_everything_can_be_set(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt"
    prompt.write_text("a\nb", encoding="utf-8")
    settings = load(
        URL
        | {"MODEL": "a/b:1", "SYSTEM_PROMPT_FILE": str(prompt), "TEMPERATURE": "0", "API_KEYS_DIR": str(tmp_path)}
        | {"CONNECT_TIMEOUT_SECONDS": "0.5", "DRAIN_SECONDS": "0", "FORWARD_HEADERS": "X-A, x-b", "LOG_LEVEL": "DEBUG"}
    )
    assert (settings.system_prompt, settings.temperature, settings.drain_seconds) == ("a\nb", 0.0, 0.0)
    assert (settings.forward_headers, settings.log_level) == (("x-a", "x-b"), "debug")


WRONG = [
    ("BACKEND_URL", "", "not given"),
    ("BACKEND_URL", "model:8000", "'model:8000'"),
    ("BACKEND_URL", "ftp://model/v1", "'ftp://model/v1'"),
    ("BACKEND_URL", "http:///v1", "'http:///v1'"),
    ("BACKEND_URL", "http://model:99999/v1", "99999"),
    ("BACKEND_URL", "http://model/v1?x=1", "query"),
    ("BACKEND_URL", "http://[::1/v1", "'http://[::1/v1'"),
    ("BACKEND_URL", "http://a b/v1", "'http://a b/v1'"),
    ("BACKEND_URL", "http://me:hunter2@model/v1", "user"),
    ("TEMPERATURE", "hot", "from 0 to 2"),
    ("TEMPERATURE", "2.1", "from 0 to 2"),
    ("TEMPERATURE", "nan", "from 0 to 2"),
    ("PORT", "http", "from 0 to 65535"),
    ("PORT", "70000", "from 0 to 65535"),
    ("PORT", "tcp://10.0.0.1:80", "from 0 to 65535"),
    ("REQUEST_TIMEOUT_SECONDS", "0", "from 0.001 to 86400"),
    ("REQUEST_TIMEOUT_SECONDS", "inf", "from 0.001 to 86400"),
    ("MAX_BODY_BYTES", "8MiB", "'8MiB'"),
    ("MAX_BODY_BYTES", "900000000", "MAX_BODIES_BYTES"),
    ("MAX_CONNECTIONS", "0", "from 1 to"),
    ("LOG_LEVEL", "loud", "debug, info, warning, error"),
    ("FORWARD_AUTHORIZATION", "yes", "true, false"),
    ("FORWARD_HEADERS", "x-a, transfer-encoding", "transfer-encoding"),
    ("FORWARD_HEADERS", "x a", "'x a'"),
    ("API_KEYS_FILE", "/nowhere/keys", "a file that is there"),
    ("API_KEYS_DIR", "/nowhere", "a folder that is there"),
    ("BACKEND_API_KEY_FILE", "/nowhere/key", "a file that is there"),
    ("SYSTEM_PROMPT_FILE", "/nowhere/prompt", "No such file"),
    ("MODEL", "a\nb", "printable"),
]


@pytest.mark.parametrize(("name", "value", "said"), WRONG)
def test_wrong(name: str, value: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load({**URL, name: value})
    (problem,) = caught.value.problems
    assert problem.startswith((f"{name}: given", f"{name}: not given")) or "holds" in problem
    assert said in problem and "allowed: " in problem
    assert "hunter2" not in problem


def run(**env: str) -> subprocess.CompletedProcess[str]:
    """Start the facade, which must end by itself."""
    clean = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "tools")}
    argv = [sys.executable, "-m", "inference_api"]
    return subprocess.run(argv, env={**clean, **env}, capture_output=True, text=True, timeout=LIMIT, check=False)


def test_all_mistakes_at_once_and_exit_code_2() -> None:
    done = run(TEMPERATURE="hot", PORT="x")
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert [line.split(":")[1].strip() for line in lines] == ["BACKEND_URL", "TEMPERATURE", "PORT"]


def test_keys_that_cannot_be_read(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"\xff")
    done = run(BACKEND_API_KEY_FILE=str(key), **URL)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert f"{key}: keys cannot be read" in done.stderr


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "tools"),
            "PORT": str(taken.getsockname()[1]),
            **URL,
        }
        done = subprocess.run(
            [sys.executable, "-m", "inference_api"], env=env, capture_output=True, text=True, timeout=LIMIT, check=False
        )
    assert done.returncode == 3
    assert "Traceback" not in done.stderr + done.stdout


@pytest.mark.parametrize(
    "name", ["component/inference-api", "trait/model-config", "trait/prompt-policy", "trait/llmd-routing"]
)
def test_what_the_definitions_set_is_read(name: str) -> None:
    text = (ROOT / "definitions" / f"{name}.cue").read_text(encoding="utf-8")
    names = set(
        re.findall(r"^\s*(?:if .* \{)?([A-Z][A-Z_]+): ", text, re.M) + re.findall(r'name: "([A-Z][A-Z_]+)"', text)
    )
    assert names
    assert names - {"POD_NAME", "POD_NAMESPACE"} <= {setting.upper() for setting in Settings.__slots__}
