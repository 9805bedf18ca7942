"""A base for all commands, without LNamespaces, and in place of modules that load slowly.

`flags` reads command lines as kubectl does, `processes` starts programs, `memory` is a cache on
disk, `terminal` prints text and tables, `output` prints for `-o`. `documents` is JSON, `values`
named tuples, `errors` all errors, `version` is for `--version`.
"""
