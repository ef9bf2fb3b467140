"""An OpenAI-compatible edge in front of any OpenAI-compatible backend (`python -m inference_api`)."""
