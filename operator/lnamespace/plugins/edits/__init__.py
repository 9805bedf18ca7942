"""The subcommands of `kubectl lns` that change something: grant, revoke, extend, leave, prune, set.

`commands` reads their arguments; `changes` has what each does to a spec; pure. `writing` reads the
object, writes it back, waits until the change is in force, and prints it.
"""
