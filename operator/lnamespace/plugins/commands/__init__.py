"""The plugins, one module for each, from the arguments to the exit code.

`create` sends what `creation` makes of its flags; `lns` finds the subcommand; `sudo` becomes
kubectl; `complete` completes all of them in a shell. `entry` is how each begins and ends.
"""
