"""The real vLLM on a processor, with a tiny model, started with the arguments that a component renders.

tinymodel.py   writes the model and adapters; runs in the engine's environment
arguments.py   from the rendered arguments to those that a processor can run
metrics.py     every metric name that anything of ours asks for
server.py      the running engine
scenario.py    the scenario
"""

from pathlib import Path

TINY = Path(__file__).with_name("tinymodel.py")
"""The program that writes the tiny model."""
