"""The subcommands of `kubectl lns` that change something: grant, revoke, extend, leave, prune, set.

`commands` reads the object, writes it back, waits until that is in force, and tells. `changes`
is what each does to a spec; pure.
"""
