"""Hold one request of a tenant, and write its answer.

- :mod:`~lnamespace.gateway.requests.calls`: the request, once it is allowed.
- :mod:`~lnamespace.gateway.requests.stored`: the object that it is about, as it is stored now.
- :mod:`~lnamespace.gateway.requests.answers`: its answer, or a refusal.
- :mod:`~lnamespace.gateway.requests.answer_encodings`: in JSON, protobuf or YAML.
- :mod:`~lnamespace.gateway.requests.compression`: in gzip.
"""
