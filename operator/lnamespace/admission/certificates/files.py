"""A certificate that somebody else makes and renews, such as cert-manager."""

import logging
from datetime import UTC, datetime
from pathlib import Path

from lnamespace.admission.certificates import values as certificates
from lnamespace.admission.certificates.tls import Identity
from lnamespace.admission.certificates.values import Pair

log = logging.getLogger(__name__)


class CertificateFiles:
    """A folder with ``tls.crt`` and ``tls.key``, as a mounted Secret has them.

    The CA that it is trusted by is not ours to look after, nor read here.
    """

    def __init__(self, folder: Path, identity: Identity) -> None:
        self._folder = folder
        self._identity = identity
        self._last: Pair | None = None

    async def look(self) -> None:
        """Serve what is in the folder if it is new and can be served.

        Raises
        ------
        OSError
            A file cannot be read.
        """
        certificate, key = ((self._folder / name).read_bytes() for name in ("tls.crt", "tls.key"))
        pair = Pair(certificate, key, b"")
        if pair == self._last:
            return
        self._last = pair
        wrong = certificates.problem(pair, datetime.now(UTC))
        if wrong:
            # Perhaps one file is new and the other not yet: then the next look finds both.
            log.warning("certificate not taken", extra={"reason": wrong})
        else:
            self._identity.show(pair)
