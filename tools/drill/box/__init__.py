"""A network, a file system view and a process tree of one's own, for parts that must not reach or outlive anything.

namespace.py   how this machine lets one make them
inner.py       the first process inside: brings loopback up, starts what it is told, lends ports to Unix sockets
outside.py     starts that process, gives it orders, hears its news, ends it
"""
