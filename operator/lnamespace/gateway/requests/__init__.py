"""One request of a tenant, and its answer.

- :mod:`~lnamespace.gateway.requests.calls`: the authorized request.
- :mod:`~lnamespace.gateway.requests.stored`: its object, as stored now.
- :mod:`~lnamespace.gateway.requests.emptied`: patches that remove all labels or annotations.
- :mod:`~lnamespace.gateway.requests.answers`: its answer, or a refusal.
- :mod:`~lnamespace.gateway.requests.answer_encoders`: in JSON, protobuf or YAML.
- :mod:`~lnamespace.gateway.requests.compression`: in gzip.
"""
