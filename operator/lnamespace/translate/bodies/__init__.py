"""Translate bodies: objects, patches and answers, in bytes as they come.

- :mod:`~lnamespace.translate.bodies.encoded`: in each encoding.
- :mod:`~lnamespace.translate.bodies.answers`: objects, lists and events;
  :mod:`~lnamespace.translate.bodies.long_lists`: in steps;
  :mod:`~lnamespace.translate.bodies.splicing`: without decoding.
- :mod:`~lnamespace.translate.bodies.tables`: Tables, by
  :mod:`~lnamespace.translate.bodies.cells`.
- :mod:`~lnamespace.translate.bodies.failures`: Status, with the
  :mod:`~lnamespace.translate.bodies.text_values` that it quotes.
- :mod:`~lnamespace.translate.bodies.patches`: each goes up as the kind of patch that it is:
  :mod:`~lnamespace.translate.bodies.json_patch`,
  :mod:`~lnamespace.translate.bodies.partial_objects`,
  :mod:`~lnamespace.translate.bodies.emptied_maps`.
- :mod:`~lnamespace.translate.bodies.confined`: objects of confined kinds, decoded entirely.
- :mod:`~lnamespace.translate.bodies.readable_times`: times that nobody could read.
- :mod:`~lnamespace.translate.bodies.object_names`: names that only the gateway can check.
"""
