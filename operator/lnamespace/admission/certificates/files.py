"""A certificate that another program makes and renews, such as cert-manager."""

import logging
from datetime import UTC, datetime
from pathlib import Path

from lnamespace.admission.certificates.keypairs import KeyPair, problem
from lnamespace.admission.certificates.tls import ServingCertificate

log = logging.getLogger(__name__)


class MountedCertificate:
    """A certificate from the files ``tls.crt`` and ``tls.key`` of a mounted Secret.

    The program that makes the certificate also writes its CA into the caBundles.
    """

    def __init__(self, folder: Path, serving: ServingCertificate) -> None:
        self._folder = folder
        self._serving = serving
        self._last: KeyPair | None = None

    async def reconcile(self) -> None:
        """Serve the pair in the folder if it is new and can be served.

        Raises
        ------
        OSError
            A file cannot be read.
        """
        certificate, key = ((self._folder / name).read_bytes() for name in ("tls.crt", "tls.key"))
        pair = KeyPair(certificate, key, b"")
        if pair == self._last:
            return
        self._last = pair
        wrong = problem(pair, datetime.now(UTC))
        if wrong:
            # One file may be new and the other not yet: the next round finds both.
            log.warning("certificate not taken", extra={"reason": wrong})
        else:
            self._serving.use(pair)
