"""Optional libraries, by the extras of pyproject.toml."""


def advice(extra: str) -> str:
    """Return how to install the libraries of an extra."""
    return f"run: pip install 'lnamespace[{extra}]' (the container image has it)"
