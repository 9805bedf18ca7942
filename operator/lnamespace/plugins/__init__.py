"""The kubectl plugins: `kubectl create lns`, `kubectl sudo` and `kubectl lns`.

They run on people's laptops, many times a day, so they stand apart from the operator: standard
library only, and nothing heavy at import. Values are `NamedTuple`s rather than frozen dataclasses
because importing `dataclasses` alone costs about as much as all that `kubectl sudo` imports
otherwise (it loads `inspect`).

Every word to the API server goes through the `kubectl` that the person already uses: its
kubeconfig, its credential plugins, its proxy and its TLS settings are then right by construction.
"""
