"""What the Dockerfile copies is enough. Nothing here builds the image."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from simulators import LIMIT, ROOT


def test_the_copied_files_are_all_that_it_needs(tmp_path: Path) -> None:
    text = (ROOT / "tools/vllm_sim/Dockerfile").read_text(encoding="utf-8")
    for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE):
        *sources, target = line.split()
        place = tmp_path / target.lstrip("/")
        for file in [file for source in sources for file in ROOT.glob(source)]:
            copied = place / file.name if target.endswith("/") else place
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copied)
    ours, theirs = str(ROOT / "tools"), str(tmp_path / "opt/sim/tools")
    script = (
        f"import sys; sys.path[:] = [{theirs!r}, *(one for one in sys.path if one != {ours!r})]\n"
        "import vllm_sim.server, vllm_sim.settings as s\n"
        "print(s.settings(['m', '--max_num_seqs', '3'], {}).max_num_seqs, s.FLAGS)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=LIMIT, check=False)
    flags = tmp_path / "opt/sim/catalog/engine-flags/vllm-0.25.0.json"
    assert done.stdout.split() == ["3", str(flags)], done.stderr
    assert "USER 1001:1001" in text
