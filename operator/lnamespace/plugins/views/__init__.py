"""The subcommands of `kubectl lns` that show something.

`list` is in `listing`, and its table in `rows`; `describe` is in `description`; `ledger` and
`whoami` have their names.
"""
