"""Answers in gzip, for clients that ask for it: as kube-apiserver compresses them."""

import zlib
from collections.abc import Generator

from lnamespace.http.messages import Headers

LARGE = 128 * 1024
"""Bytes from which kube-apiserver compresses an answer."""
GZIPPED: Headers = (("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
_LEVEL = 1
"""The level of kube-apiserver: the next ones take twice the time to save a tenth of the bytes."""
_GZIP_WINDOW = 31
"""zlib's number for gzip with the largest window."""
_STEP = 256 * 1024
"""Bytes that are compressed in less than a millisecond."""


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether an answer may be compressed, by the header Accept-Encoding."""
    codings = (each.strip() for each in accept_encoding.split(","))
    return any(each == "gzip" or each.startswith("gzip;q=1") for each in codings)


def gzip_steps(body: bytes) -> Generator[None, None, bytes]:
    """Return a body in gzip; pause so that other tasks may run."""
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    whole, found = memoryview(body), []
    for start in range(0, len(body), _STEP):
        found.append(compressor.compress(whole[start : start + _STEP]))
        yield
    return b"".join((*found, compressor.flush()))
