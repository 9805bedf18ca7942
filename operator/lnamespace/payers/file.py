"""The payers' file, read again when it changes.

Content that cannot be used changes nothing: the last good content stays in force. Empty content
counts as such: a file that is being written, or a broken volume, must not open every cost centre.

The kubelet replaces the files of a ConfigMap as a whole. Other tools overwrite a file in place, and
we may read half of it. Half a YAML file is often valid YAML, with fewer entries or none.
"""

import asyncio
import logging
import os
import re
from pathlib import Path
from typing import NoReturn

from lnamespace.errors import PayersError
from lnamespace.files.changing import ChangingFile
from lnamespace.payers.entries import Payers
from lnamespace.payers.parsing import decode

logger = logging.getLogger(__name__)


POLL_SECONDS = 1.0
"""Seconds between two checks; each is one ``stat`` of the file."""

_ENTRIES = re.compile(rb"""(?:^|[{,])\s*["']?entries["']?\s*:""", re.MULTILINE)
"""Matches the key ``entries``, and not a comment that has the word."""


class PayersFile:
    """The configuration in force, kept up to date with its file.

    Attributes
    ----------
    current
        The configuration in force; :class:`Payers` without entries if there is no path.
    problem
        Why the file's present content is not in force; empty if it is.

    Raises
    ------
    PayersError
        The first content cannot be read or used.
    """

    def __init__(self, path: str) -> None:
        self._file = ChangingFile(Path(path)) if path else None
        self._content: bytes | None = None
        self._unsettled: bytes | None = None
        self.current = Payers()
        self.problem = ""
        if self._file:
            self._take(self._file)

    async def run(self) -> NoReturn:
        """Poll the file until cancelled. Reads in a thread: to parse 900 KiB takes 2.7 s."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            await asyncio.to_thread(self.refresh)

    def refresh(self) -> None:
        """Read the file if it has changed; log it if the new content cannot be used."""
        if not self._file:
            return
        try:
            self._take(self._file)
        except PayersError as error:
            if str(error) != self.problem:
                self.problem = str(error)
                logger.error(  # noqa: TRY400 - what is wrong is in the file, not in the code
                    "the payers cannot be used; those before go on", extra={"problem": self.problem}
                )

    def _take(self, file: ChangingFile) -> None:
        try:
            content = file.changed()
        except OSError as error:
            reason = error.strerror or os.strerror(error.errno or 0)
            raise PayersError(f"{file.path}: cannot be read: {reason}") from error
        content = self._settled(file, content)
        if content is None:
            return
        if content != self._content or self.problem:
            payers = decode(content, str(file.path))
            self._check_change(payers, content, file)
            self.current, self._content = payers, content
            logger.info("read who pays by default", extra={"entries": len(self.current.entries)})
        self.problem = ""

    def _settled(self, file: ChangingFile, changed: bytes | None) -> bytes | None:
        """Return the content to read: a new file at once, one overwritten in place a poll later."""
        settled, self._unsettled = self._unsettled, None
        if changed is None:
            return settled
        if file.in_place:
            self._unsettled = changed
            return None
        return changed

    def _check_change(self, payers: Payers, content: bytes, file: ChangingFile) -> None:
        """Refuse a file that lacks all of its entries, or its end, as if it were half-written."""
        if self.current.entries and not payers.entries and not _ENTRIES.search(content):
            raise PayersError(
                f"{file.path}: has no entries, and {len(self.current.entries)} are in force; if "
                "everybody may choose any cost centre from now on, write entries: []"
            )
        start, whole = content.rstrip(), (self._content or b"").rstrip()
        if file.in_place and start != whole and whole.startswith(start):
            raise PayersError(
                f"{file.path}: is the beginning of what is in force, as if it had been cut off; if "
                "it is whole, write it to another file and rename that to this name"
            )
