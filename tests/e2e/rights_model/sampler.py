"""Asks all the time, while everything is on its way: what is answered must have been said."""

import random
import threading
import time
from collections.abc import Sequence
from typing import Self

from tests.e2e.rights_model.history import History
from tests.e2e.rights_model.questions import Question
from tests.e2e.support.api import ApiError, Unreachable
from tests.e2e.support.rights import Rights

_PAUSE = 0.02
"""Seconds between two questions, for others have work to do as well."""


class Sampler:
    """A thread that asks; to be used as a context, and looked at for what it ``found``."""

    def __init__(
        self, rights: Rights, history: History, asked: Sequence[Question], seed: int
    ) -> None:
        self._rights = rights
        self._history = history
        self._random = random.Random(seed)
        self._asked = asked
        self._grave = [question for question in asked if question.grave]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.answers = 0
        self.found: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(_PAUSE):
            some = self._random.choice((self._asked, self._grave))
            self._ask(self._random.choice(some))

    def _ask(self, question: Question) -> None:
        who, powers = question.who, question.powers
        window, at = self._history.window(), time.time()
        try:
            allowed = self._rights.may(who, question.deed)
        except (Unreachable, ApiError):
            return  # the API server is about to be there again
        self.answers += 1
        if allowed and not window.can(who, powers):
            self.found.append(f"{at:.3f}: {question}: allowed, and no list said so")
        if not allowed and window.must(who, powers):
            self.found.append(f"{at:.3f}: {question}: refused, and all lists said so")
