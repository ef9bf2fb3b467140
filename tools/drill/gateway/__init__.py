"""Real Envoy AI Gateway with a real Envoy, in a network of its own with the models behind it.

namespace.py   how to get a network, a file system view and a process tree of one's own
inner.py       the program inside: brings loopback up, starts what it is told, lends its ports to Unix sockets
objects.py     from what a cluster holds (or vela renders) to what aigw reads, and to models and their addresses
cell.py        one gateway with its models: start, ask, stop
client.py      requests to a cell, and what came back
traffic.py     constant traffic over time, over cells that take over from one another
checks.py      what is asked of a cell, as figures
canary.py      the scenario on a plane;  routes.py  the scenario on rendered objects
"""
