"""Real scaling: the catalog's ScaledObject, KEDA, Prometheus and Kubernetes' autoscaler; only the models are not.

intent.py     what is put under load: copies of one component of an application, in two environments
keys.py       certificates of KEDA's two halves
programs.py   how Prometheus and KEDA are started beside the plane
load.py       what a model's pods report under a load (pure)
fleet.py      which pods there are, and the metrics each of them serves to Prometheus
watch.py      objects of an API server as they change
track.py      the replicas and signals of one workload over time
stand.py      programs, watches and tracks beside a hub, for this scenario and for `traffic`
ground.py     all of that together, started and stopped
signals.py loops.py lost.py   what is tried, one function a case
scenario.py   the cases side by side, and then the result
"""
