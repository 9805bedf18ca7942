"""Divide the resources that all tenants share: connections, memory, the one thread.

- :mod:`~lnamespace.gateway.fairness.costs`: what a request costs the API server.
- :mod:`~lnamespace.gateway.fairness.in_flight`: limits of one tenant's concurrent requests.
- :mod:`~lnamespace.gateway.fairness.review_waits`: how long Kubernetes' controllers wait for one
  tenant's webhooks.
- :mod:`~lnamespace.gateway.fairness.request_usage`: each tenant's share of the memory for answers.
- :mod:`~lnamespace.gateway.fairness.scheduler`: each tenant's use of the thread, and the order of
  their work.
"""
