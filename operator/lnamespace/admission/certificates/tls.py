"""The certificate that is served, and changing it while it is."""

import logging
import os
import ssl
from contextlib import ExitStack
from datetime import UTC, datetime

from lnamespace.admission.certificates import values as certificates
from lnamespace.admission.certificates.values import Pair
from lnamespace.metrics.webhook import WebhookMetrics

log = logging.getLogger(__name__)


class Identity:
    """What this process shows to those who connect. None at first: then nobody can."""

    def __init__(self, metrics: WebhookMetrics) -> None:
        self._metrics = metrics
        self.pair: Pair | None = None
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.set_alpn_protocols(["http/1.1"])
        # A resumed session would go on with the certificate that it began with.
        self.context.options |= ssl.OP_NO_TICKET
        self.context.num_tickets = 0

    def problem(self) -> str | None:
        """Why nobody can connect now, or None."""
        if self.pair is None:
            return "there is no certificate yet"
        wrong = certificates.problem(self.pair, datetime.now(UTC))
        return f"the certificate cannot be served: {wrong}" if wrong else None

    def show(self, pair: Pair) -> None:
        """Serve this pair from the next handshake on; connections that are open stay as they are.

        The pair must have been found to be without a problem: OpenSSL would keep half of it.
        """
        if pair == self.pair:
            return
        with ExitStack() as files:
            self.context.load_cert_chain(
                _in_memory(files, pair.certificate), _in_memory(files, pair.key)
            )
        self.pair = pair
        expires = certificates.expiry(pair)
        self._metrics.certificate_expiry.set(expires.timestamp())
        self._metrics.certificate_not_before.set(certificates.beginning(pair).timestamp())
        log.info("serving a certificate", extra={"expires": expires.isoformat()})


def _in_memory(files: ExitStack, content: bytes) -> str:
    """A path to read the content from, which OpenSSL asks for; the key never comes to a disk."""
    descriptor = os.memfd_create("certificate")
    files.callback(os.close, descriptor)
    os.write(descriptor, content)
    return f"/proc/self/fd/{descriptor}"
