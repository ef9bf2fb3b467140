"""What the rendered objects do under traffic: scenarios from intent to verdict, on this machine and nowhere else.

    model.py      what a scenario gives back: figures, series, events (imports nothing of ours)
    context.py    what a scenario is given: the checkout, the chosen app, scratch space, progress
    scenarios.py  the list of scenarios by name; imports one only when it is asked for
    report.py     the results as text, JSON or one HTML page with plots
    box/          namespaces of one's own, and what runs in them
    gateway/      real Envoy AI Gateway and Envoy in namespaces of their own
    engine/       the real vLLM on the processor, with a tiny model
    scaling/      real KEDA, Prometheus and Kubernetes' autoscaler

`sailplan drill` is the command; nothing here is imported before it is asked for.
"""
