"""Translate requests and answers between a tenant's cluster and the platform's cluster.

Everything here is pure: values and bytes go in, values and bytes come out. "Up" is the direction
from the tenant to the platform's API server, "down" is the way back. "Tenant spelling" is how a
tenant writes a name (``prod``), "upstream spelling" how the API server stores it (``acme-prod``).

- :mod:`~lnamespace.translate.resources`: the resources that a tenant is served, and their policy.
- :mod:`~lnamespace.translate.view`: the names of one tenant, in both directions.
- :mod:`~lnamespace.translate.request`: what a request asks for, from its method and URL.
- :mod:`~lnamespace.translate.bodies`: bodies of requests, answers and watches.
- :mod:`~lnamespace.translate.status`: refusals in Kubernetes' own words.
"""
