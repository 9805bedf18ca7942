"""A local Kubernetes control plane: etcd, kube-apiserver and kube-controller-manager as processes.

Read it in this order: `cli` (the commands), `cluster` (what up, down and env do), `components`
(the flags of each process), `processes` (pidfiles), `pki` (certificates), `binaries` and `golang`
(where the executables come from). `user` is the half of hack/new-user.sh that needs Python.
"""
