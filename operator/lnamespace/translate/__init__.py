"""Translate requests and answers between a tenant's cluster and the platform's cluster.

Everything here is pure: values and bytes go in, values and bytes come out. "Up" is the direction
from the tenant to the platform's API server, "down" is the way back. "Tenant spelling" is how a
tenant writes a name (``prod``), "upstream spelling" how the API server stores it (``acme-prod``).
In the code, ``above`` is a value in upstream spelling and ``below`` one in tenant spelling.

The layers, from the lowest one up:

- :mod:`~lnamespace.translate.protocol`: Kubernetes' API as any cluster speaks it.
- :mod:`~lnamespace.translate.names`: the names of one tenant, in both directions.
- :mod:`~lnamespace.translate.discovery`: what a tenant is served.
- :mod:`~lnamespace.translate.objects`: which values of each kind are translated, and how.
- :mod:`~lnamespace.translate.requests`: the URL and the headers of a request.
- :mod:`~lnamespace.translate.bodies`: bodies of requests, answers and watches.
- :mod:`~lnamespace.translate.webhooks`: reviews for the webhooks of tenants.
"""
