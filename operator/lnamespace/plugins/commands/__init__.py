"""The plugins, one module for each, from the arguments to the exit code.

`create` sends the object that `creation` builds from the flags; `lns` finds the subcommand; `sudo`
becomes kubectl; `complete` completes all of them in a shell. `entry` runs any of them.
"""
