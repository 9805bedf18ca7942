"""Where a process listens."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from lnamespace.errors import OptionError, SettingsError


@dataclass(frozen=True)
class Address:
    """An address to listen at; port 0 is any free port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read HOST:PORT, [HOST]:PORT or :PORT, which is every address of this machine.

        Raises
        ------
        ValueError
            The text has none of these forms.
        """
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise ValueError(f"{text!r} is not HOST:PORT, such as 0.0.0.0:8443")
        return cls(host.strip("[]"), int(port))


async def listen_at(
    flag: str, text: str, start: Callable[[Address], Awaitable[Address]]
) -> Address:
    """Bind a server to the address of a flag; return the real address.

    Raises
    ------
    SettingsError
        The text is not an address, or the process cannot listen there.
    """
    try:
        return await start(Address.parse(text))
    except ValueError as error:
        raise OptionError(f"{flag}: {error}") from error
    except OSError as error:
        raise SettingsError(f"{flag}: cannot listen: {error}") from error
