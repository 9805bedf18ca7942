"""The TLS context of the webhook, which changes its certificate while it serves."""

import logging
from datetime import UTC, datetime
from pathlib import Path

from lnamespace.admission.certificates.keypairs import KeyPair, not_after, not_before, problem
from lnamespace.metrics.webhook import WebhookMetrics
from lnamespace.runtime.certificates import load_key_pair, server_context

log = logging.getLogger(__name__)


class ServingCertificate:
    """The key pair that this process serves; without one, nobody can connect."""

    def __init__(self, metrics: WebhookMetrics) -> None:
        self._metrics = metrics
        self.pair: KeyPair | None = None
        self.context = server_context()

    def problem(self) -> str | None:
        """Return why nobody can connect now, or None."""
        if self.pair is None:
            return "there is no certificate yet"
        wrong = problem(self.pair, datetime.now(UTC))
        return f"the certificate cannot be served: {wrong}" if wrong else None

    def use(self, pair: KeyPair) -> None:
        """Serve this pair from the next handshake on; open connections stay as they are.

        The caller has checked that the pair has no problem: OpenSSL would load a bad one in part.
        """
        if pair == self.pair:
            return
        load_key_pair(self.context, pair.certificate, pair.key)
        self.pair = pair
        expires = not_after(pair)
        self._metrics.certificate_expiry.set(expires.timestamp())
        self._metrics.certificate_not_before.set(not_before(pair).timestamp())
        log.info("serving a certificate", extra={"expires": expires.isoformat()})


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
