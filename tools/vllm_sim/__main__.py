"""`python -m vllm_sim`."""

from vllm_sim.cli import main

raise SystemExit(main())
