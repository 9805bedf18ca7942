"""Translate the reviews that the API server sends to a tenant's webhooks, and their answers.

- :mod:`~lnamespace.translate.webhooks.admission_reviews`: AdmissionReviews.
- :mod:`~lnamespace.translate.webhooks.conversion_reviews`: ConversionReviews.
- :mod:`~lnamespace.translate.webhooks.review_bodies`: the bodies of both.
"""
