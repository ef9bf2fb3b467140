"""sailplan: composes catalog presets into KubeVela Applications for LLM inference.

The library comes first, the command second: `sailplan.cli` only declares options and prints.
"""

__version__ = "1.0.0"
