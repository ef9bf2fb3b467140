"""A kubelet for processes: it starts the real commands of pods, without containers, on this machine's loopback.

On a cluster of `localplane` it takes nodes over from KWOK. Pods that the real scheduler binds to them get a process
each, on a loopback address of their own; Services get an address that spreads connections over ready pods; and names of
Services resolve inside of those processes. For tests, drills and demos: nothing is isolated here.
"""
