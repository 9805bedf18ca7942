"""Translate objects: the values of each kind that are spelled differently upstream.

- :mod:`~lnamespace.translate.objects.catalogue`: the translator of each resource.
- :mod:`~lnamespace.translate.objects.translators`: the kinds of translators, which go by the
  :mod:`~lnamespace.translate.objects.context` of a request;
  :mod:`~lnamespace.translate.objects.paths`: translators as tables.
- :mod:`~lnamespace.translate.objects.fields`: the tables of Kubernetes' own kinds.
- :mod:`~lnamespace.translate.objects.spellings`: rules for single values;
  :mod:`~lnamespace.translate.objects.references`: for names of other objects, by their kind.
- :mod:`~lnamespace.translate.objects.metadata`: metadata, with
  :mod:`~lnamespace.translate.objects.labels`, their :mod:`~lnamespace.translate.objects.keys`,
  :mod:`~lnamespace.translate.objects.managed_fields` and the annotation
  :mod:`~lnamespace.translate.objects.last_applied`;
  :mod:`~lnamespace.translate.objects.definition_reserve`: an annotation of the gateway's own.
- :mod:`~lnamespace.translate.objects.confinement`: objects that would act on the whole cluster.
- :mod:`~lnamespace.translate.objects.default_classes`: the class of an object that names none.
- :mod:`~lnamespace.translate.objects.load_balancers`: addresses that a tenant's own ones write.
- :mod:`~lnamespace.translate.objects.synthetic_objects`: objects that exist in the gateway alone.
- :mod:`~lnamespace.translate.objects.texts`: texts for people, by
  :mod:`~lnamespace.translate.objects.text_names`.

Single kinds and fields: :mod:`~lnamespace.translate.objects.single_kinds`,
:mod:`~lnamespace.translate.objects.aggregation`, :mod:`~lnamespace.translate.objects.match_rules`,
:mod:`~lnamespace.translate.objects.quotas`, :mod:`~lnamespace.translate.objects.totals`.
"""
