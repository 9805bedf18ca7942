"""Libraries that only some installations need, as pyproject.toml names them."""


def advice(extra: str) -> str:
    """Say how to install the libraries of an extra, for somebody whose process lacks them."""
    return f"run: pip install 'lnamespace[{extra}]' (the container image has it)"
