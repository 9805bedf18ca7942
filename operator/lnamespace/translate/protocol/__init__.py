"""Read and write Kubernetes' API as any cluster speaks it, without tenants.

- :mod:`~lnamespace.translate.protocol.request`: a request, from method, path
  (:mod:`~lnamespace.translate.protocol.request_paths`) and query, with one of the
  :mod:`~lnamespace.translate.protocol.verbs`;
  :mod:`~lnamespace.translate.protocol.percent` and :mod:`~lnamespace.translate.protocol.numbers`
  read them.
- :mod:`~lnamespace.translate.protocol.resources`: the resources, with the
  :mod:`~lnamespace.translate.protocol.policies` by which they are served.
- :mod:`~lnamespace.translate.protocol.list_options`: options of a list or watch;
  :mod:`~lnamespace.translate.protocol.create_options`: of a creation.
- :mod:`~lnamespace.translate.protocol.selectors`: selectors by fields and labels.
- :mod:`~lnamespace.translate.protocol.impersonation`: the headers ``Impersonate-*``;
  :mod:`~lnamespace.translate.protocol.websocket`: a token in a subprotocol.
- :mod:`~lnamespace.translate.protocol.negotiation`: the header Accept;
  :mod:`~lnamespace.translate.protocol.encodings` of objects,
  :mod:`~lnamespace.translate.protocol.discovery_formats` of discovery.
- :mod:`~lnamespace.translate.protocol.patch_directives`: of strategic merge patches.
- :mod:`~lnamespace.translate.protocol.request_json`: bodies of any encoding as JSON:
  :mod:`~lnamespace.translate.protocol.protobuf`,
  :mod:`~lnamespace.translate.protocol.yaml_bodies` with their
  :mod:`~lnamespace.translate.protocol.yaml_scalars`.
  :mod:`~lnamespace.translate.protocol.yaml_answers`: JSON as YAML.
- :mod:`~lnamespace.translate.protocol.repeated`: keys that are written twice.
- :mod:`~lnamespace.translate.protocol.status`: refusals in Kubernetes' own words, as Go quotes
  them (:mod:`~lnamespace.translate.protocol.quoting`).
"""
