"""Find whom a sudoer impersonates, or why the API server will refuse it.

`command_line` reads the command. `check` finds it for an LNamespace, `lcluster` inside an LCluster.
`manifests` reads which namespaces the files of a command are for, `unclear` has the errors of a
command that is for none. `pod` leads kubectl to the cluster of its own pod.
"""
