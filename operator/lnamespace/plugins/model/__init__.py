"""LNamespaces and LClusters as the plugins know them; values in, values out.

`lnamespaces` reads objects, `subjects` the people on their lists, `roles` what a caller is there
and whom to ask for more. `times` has durations and moments, `api_group` the group of the instance.
"""
