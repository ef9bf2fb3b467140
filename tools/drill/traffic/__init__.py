"""Real scaling under real requests: what `scaling` has, but pods are processes, and clients make the load.

clients.py    requests in flight, as many as asked for, and what became of each
ground.py     hub, KEDA, Prometheus, a runner of pods, clients: started and stopped
figures.py    what is said of requests and of replicas (pure)
scenario.py   load up in steps, constant, down to little, gone
"""
