"""The kubectl plugins: `kubectl create lns`, `kubectl sudo` and `kubectl lns`.

They run on people's laptops, many times a day, so they stand apart from the operator: standard
library only, and nothing heavy at import: no `re`, `typing`, `enum` or `subprocess` before kubectl
has been started, which takes longer than all of them. Values are the named tuples of `values`.

Every word to the API server goes through the `kubectl` that the person already uses: its
kubeconfig, its credential plugins, its proxy and its TLS settings are then right by construction.
"""
