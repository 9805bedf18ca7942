"""What every long-running process needs: the controller, the webhook and the publisher.

* :mod:`.listener` - an HTTP/1.1 listener with bounds on connections and time.
* :mod:`.probes` - liveness, readiness and metrics over plain HTTP.
* :mod:`.signals` - a stop at SIGTERM and SIGINT.
* :mod:`.logs` - log records as text or as JSON.
"""
