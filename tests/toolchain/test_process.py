"""What a command printed is its own, also when others write to the same log."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from toolchain.process import run


def test_commands_that_share_a_log_do_not_read_each_other(tmp_path: Path) -> None:
    def said(number: int) -> str:
        code = f"import time; print({number}, flush=True); time.sleep(0.1); print({number}, flush=True)"
        return run([sys.executable, "-c", code], title="test", log=tmp_path / "log")

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(said, range(8))) == [f"{number}\n{number}\n" for number in range(8)]
    assert (tmp_path / "log").read_text().count("$ ") == 8
