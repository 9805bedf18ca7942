"""The kubectl plugins: `kubectl create lns`, `kubectl sudo` and `kubectl lns`.

They run on people's laptops, many times a day, so they stand apart from the operator: standard
library only, and nothing heavy at import: no `re`, `typing`, `enum` or `subprocess` before kubectl
has been started, which takes longer than all of them.

Every request to the API server goes through the `kubectl` that the person already uses: its
kubeconfig, its credential plugins, its proxy and its TLS settings are then right by construction.

- :mod:`~lnamespace.plugins.commands`: the programs; :mod:`~lnamespace.plugins.help`: their help.
- :mod:`~lnamespace.plugins.views`, :mod:`~lnamespace.plugins.edits`: what `kubectl lns` shows and
  changes. :mod:`~lnamespace.plugins.sudo`: who may sudo, and as whom.
- :mod:`~lnamespace.plugins.kubeconfig`: contexts that lead to LClusters.
- :mod:`~lnamespace.plugins.cluster`: requests, watches and waiting, through kubectl.
- :mod:`~lnamespace.plugins.model`: objects, people, roles; pure.
- :mod:`~lnamespace.plugins.runtime`: command lines, processes, the terminal.
"""
