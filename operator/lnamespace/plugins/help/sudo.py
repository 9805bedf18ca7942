"""The help of `kubectl sudo`."""

from __future__ import annotations

SUDO = """\
Run a kubectl command as a sudoer of one namespace.

The rights are those of NAMESPACE's sudoers: everything inside it, and changes to the LNamespace of
that name. You need to be on its list of sudoers; see: kubectl lns list

In a context that leads to an LCluster, the rights are those of its cluster-admin, for who is a
sudoer of the LCluster, and no namespace is needed.

The namespace is taken from -n, else from the LNamespace that the command names, else from the
files, folders and kustomizations that it is given, else from the current context.

Examples:
  # Delete a role binding in namespace team-a
  kubectl sudo -n team-a delete rolebinding old-ci

  # Repeat the last command, with sudo
  kubectl sudo !!

  # A file that says which namespace it is for
  kubectl sudo apply -f role.yaml

  # Edit the LNamespace itself; its name also is the namespace
  kubectl sudo edit lns team-a

  # Make somebody a user
  kubectl sudo lns grant team-a --user bob@example.com

  # Everything behind the command is kubectl's: pipes, flags, and what follows --
  kubectl sudo -n team-a apply -f - < role.yaml
  kubectl sudo -n team-a exec web-0 -- sh -c 'echo $HOME'

Usage:
  kubectl sudo [-n NAMESPACE] COMMAND [ARGUMENTS ...]
  kubectl sudo --version
"""
