"""Documents of a Kubernetes 1.36.3 API server, recorded.

Tenants acme and beta have one CustomResourceDefinition each there, and so has the platform:
``widgets.stable.example.com``, ``gears.stable.example.com`` and ``meters.platform.example.org``.
"""

from pathlib import Path

from lnamespace.translate.discovery.groups import DiscoveredGroup, parse_discovery

FOLDER = Path(__file__).resolve().parents[1] / "upstream"


def recorded(name: str) -> bytes:
    """Return one recorded document."""
    return (FOLDER / name).read_bytes()


def discovered() -> tuple[DiscoveredGroup, ...]:
    """Return the groups of ``/api`` and ``/apis``."""
    return tuple(
        group
        for name in ("discovery-api.json", "discovery-apis.json")
        for group in parse_discovery(recorded(name))
    )
