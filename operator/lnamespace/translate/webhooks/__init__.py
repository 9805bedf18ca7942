"""Translate what the API server asks the webhooks of a tenant, and what they answer.

- :mod:`~lnamespace.translate.webhooks.admission_reviews`: whether an object is admitted, and how
  it is changed.
- :mod:`~lnamespace.translate.webhooks.conversion_reviews`: objects in another version.
- :mod:`~lnamespace.translate.webhooks.review_bodies`: the bodies of both.
"""
