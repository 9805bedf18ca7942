"""Contexts of the kubeconfig that lead to LClusters.

`contexts` is `kubectl lns kubeconfig`, and `gateway` the address of one LCluster.
"""
