"""The door: what the API server asks before an LNamespace is written, and the answers."""
