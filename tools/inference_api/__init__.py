"""An OpenAI-compatible edge in front of any OpenAI-compatible backend: `python -m inference_api`.

    client --> protocol --> app --> observe --> endpoints --> relay --> backend --> pool --> backend's own server
               (limits of    (routes)  (ids, log,  (key, body,   (bytes as     (errors in    (kept
                a socket)               metrics)    policy)       they come)    our words)    connections)

Requests pass as they came, byte by byte, but for what is asked of the edge: the model when none is named, the system
prompt when the conversation has none, the temperature when none is given. settings.py lists what the environment sets.
"""
