"""A stand-in for vLLM without a GPU: it takes the arguments that `vllm-model` renders, and answers as vLLM does.

Same paths, error shapes, metric names and queueing as vLLM 0.25; the text is an echo. For tests, drills and demos.

    python -m vllm_sim MODEL --served-model-name NAME --max-num-seqs 8 ...
"""
