"""Configuration files that people write.

* :mod:`.changing` - a file that is read anew when it changes.
* :mod:`.strict_yaml` - YAML decoded into a type, with errors that name the line and the remedy.
"""
