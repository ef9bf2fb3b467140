"""Real Envoy AI Gateway with a real Envoy, in a box of their own with the models behind it.

objects.py     from what a cluster holds (or vela renders) to what aigw reads, and to models and their addresses
cell.py        one gateway with its models: start, ask, stop
source.py      where these objects come from
client.py      requests to a cell, and what came back
traffic.py     constant traffic over time, over cells that take over from one another
checks.py      what is asked of a cell, as figures
canary.py      the scenario on a plane;  routes.py  the scenario on rendered objects
"""
