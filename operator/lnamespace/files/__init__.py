"""Files that people write: strict YAML, read anew when it changes."""
