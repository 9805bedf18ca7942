"""The payers' file, read anew when it changes.

A content that cannot be used changes nothing; what was good before goes on.
"""

import logging
import os
from pathlib import Path

from lnamespace.billing.payers import Payers
from lnamespace.billing.payers_yaml import decode
from lnamespace.changing_file import ChangingFile
from lnamespace.errors import PayersError

logger = logging.getLogger(__name__)


class PayersFile:
    """A file of payers; no path is an empty one.

    ``problem`` says what is wrong with the present content; empty: nothing, it is in force.

    Raises
    ------
    PayersError
        The first content cannot be read or used.
    """

    def __init__(self, path: str) -> None:
        self._file = ChangingFile(Path(path)) if path else None
        self._payers = Payers()
        self._content = b""
        self.problem = ""
        if self._file:
            self._take(self._file)

    @property
    def current(self) -> Payers:
        """What is in force now. Costs a look at the file's inode, and a read if that is new."""
        if self._file:
            self._refresh(self._file)
        return self._payers

    def _refresh(self, file: ChangingFile) -> None:
        try:
            self._take(file)
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
        if content is None:
            return
        if content != self._content or self.problem:
            self._payers = decode(content, str(file.path))
            self._content = content
            logger.info("read who pays by default", extra={"entries": len(self._payers.entries)})
        self.problem = ""
