"""One request of a tenant, and its answer.

- :mod:`~lnamespace.gateway.requests.calls`: the authorized request.
- :mod:`~lnamespace.gateway.requests.stored`: the object of a request, as stored now.
- :mod:`~lnamespace.gateway.requests.emptied`: patches that remove all labels or annotations.
- :mod:`~lnamespace.gateway.requests.answers`: the answer, or a refusal.
- :mod:`~lnamespace.gateway.requests.answer_encoders`: encoders to JSON, protobuf and YAML;
  :mod:`~lnamespace.gateway.requests.compression`: gzip.
"""
