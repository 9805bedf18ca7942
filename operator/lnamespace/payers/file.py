"""The payers' file, read anew when it changes.

A content that cannot be used changes nothing; what was good before goes on. That is so of an empty
one too: a file that is being written, or a volume that went wrong, must not open every cost centre.

A ConfigMap's volume swaps whole files. A file that is written over in place may be seen
half-written, and half a file of YAML is often a file of YAML: fewer may charge a cost centre, or
everybody.
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
"""Seconds between two looks at the file; each is one at its inode."""

_ENTRIES = re.compile(rb"""(?:^|[{,])\s*["']?entries["']?\s*:""", re.MULTILINE)
"""The key, and not a comment that has the word."""


class PayersFile:
    """A file of payers; no path is an empty one.

    ``current`` is what is in force, and costs nothing. ``problem`` says what is wrong with the
    present content; empty: nothing, it is in force.

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

    async def keep(self) -> NoReturn:
        """Read it anew whenever it changes, in a thread: a large one takes seconds to check."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            await asyncio.to_thread(self.refresh)

    def refresh(self) -> None:
        """Look at the file, and read it if it is new."""
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
        """Return what is to be read: a new file at once, one that is written over a look later."""
        settled, self._unsettled = self._unsettled, None
        if changed is None:
            return settled
        if file.in_place:
            self._unsettled = changed
            return None
        return changed

    def _check_change(self, payers: Payers, content: bytes, file: ChangingFile) -> None:
        """Refuse a file that has lost entries without a word, or its end while it was written."""
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
