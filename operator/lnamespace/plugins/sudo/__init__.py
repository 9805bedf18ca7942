"""Whether somebody may sudo, and as whom, for a refusal in words: the API server decides.

`check` asks that in an LNamespace, `lcluster` inside an LCluster. `manifests` reads which
namespaces the files of a command are for, `unclear` says what is wrong with a command that is for
none. `pod` leads kubectl to the cluster of its own pod.
"""
