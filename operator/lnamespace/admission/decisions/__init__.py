"""The decisions of the webhook: pure functions from values to values, without input or output.

* :mod:`.review` - the AdmissionReview: decode a request, encode an answer.
* :mod:`.mutation` - the fields that the webhook fills in; :mod:`.charge` - who pays among them.
* :mod:`.validation` - what the webhook refuses; :mod:`.bounds` - sizes, :mod:`.editors` - who can
  edit, :mod:`.warnings` - what it only warns of.
* :mod:`.decision` - the inputs besides the request, and the result; made of :mod:`.fields` (field
  errors) and :mod:`.patch` (JSON patch).
* :mod:`.conversion` - the ConversionReview.

An import contract in pyproject.toml keeps them pure: no client, no event loop, no server, no log.
"""
