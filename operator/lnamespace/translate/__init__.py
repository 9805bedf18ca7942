"""Translate requests and answers between a tenant's cluster and the platform's cluster.

Everything here is pure: values and bytes go in, values and bytes come out. "Up" is the direction
from the tenant to the platform's API server, "down" is the way back. "Tenant spelling" is how a
tenant writes a name (``prod``), "upstream spelling" how the API server stores it (``acme-prod``).

What a tenant is served:

- :mod:`~lnamespace.translate.view`: the names of one tenant, in both directions.
- :mod:`~lnamespace.translate.resources`: the resources that a tenant is served, by
  :mod:`~lnamespace.translate.policies` and by :mod:`~lnamespace.translate.discovery`;
  :mod:`~lnamespace.translate.published`: what of the platform everybody sees;
  :mod:`~lnamespace.translate.allowances`: what of it a tenant's objects may use.

A request, and the request upstream:

- :mod:`~lnamespace.translate.request`: what is asked for, by method, path and query.
- :mod:`~lnamespace.translate.targets`: the URL upstream, with
  :mod:`~lnamespace.translate.selection` and :mod:`~lnamespace.translate.selectors` in it.
- :mod:`~lnamespace.translate.headers`: headers, both ways.
- :mod:`~lnamespace.translate.list_options`, :mod:`~lnamespace.translate.create_options`: options of
  what is not one request upstream, judged as the API server does.
- :mod:`~lnamespace.translate.status`: refusals in Kubernetes' own words, and as Go quotes
  (:mod:`~lnamespace.translate.quoting`).

Bodies:

- :mod:`~lnamespace.translate.bodies`: bodies of requests, answers and watches, in each encoding
  (:mod:`~lnamespace.translate.encodings`, :mod:`~lnamespace.translate.protobuf`,
  :mod:`~lnamespace.translate.yaml_bodies`, :mod:`~lnamespace.translate.yaml_answers`).
- :mod:`~lnamespace.translate.answers`: objects, lists, :mod:`~lnamespace.translate.tables`,
  :mod:`~lnamespace.translate.failures`; :mod:`~lnamespace.translate.texts`: names in texts.
- :mod:`~lnamespace.translate.patches`: each goes up as the kind of patch that it is.

Objects:

- :mod:`~lnamespace.translate.plans`: which values are translated, and how;
  :mod:`~lnamespace.translate.catalogue`: the plan of each resource, of
  :mod:`~lnamespace.translate.fields`, :mod:`~lnamespace.translate.metadata`,
  :mod:`~lnamespace.translate.references`, :mod:`~lnamespace.translate.spellings`.
- :mod:`~lnamespace.translate.confinement`: objects that would act on the whole cluster.
- :mod:`~lnamespace.translate.made_objects`: objects that the gateway makes itself.

Paths that are no objects: :mod:`~lnamespace.translate.service_paths`,
:mod:`~lnamespace.translate.discovery_documents`, :mod:`~lnamespace.translate.openapi_v2`,
:mod:`~lnamespace.translate.openapi_v3`.

Webhooks of tenants: :mod:`~lnamespace.translate.webhook_routes` leads the API server to the
gateway, which translates :mod:`~lnamespace.translate.admission_reviews` and
:mod:`~lnamespace.translate.conversion_reviews`.
"""
