"""What a command needs that knows no LNamespaces; it stands in for modules that load slowly.

`flags` reads command lines as kubectl does, `processes` starts programs, `memory` keeps what was
found out in the user's cache, `terminal` has text and tables, `output` is for `-o`. `documents` is
JSON, `values` named tuples, `errors` all errors, `version` what `--version` prints.
"""
