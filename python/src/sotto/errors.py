"""What can go wrong, by the exit code of the program.

Messages come from the program, which puts no content of a record into them, nor which records they
are about and how many: that is in ``said``, for the one who has to correct them.
"""

from __future__ import annotations

from typing import Any, Mapping

__all__ = ["BudgetRefused", "DataError", "Interrupted", "ProgramNotFound", "SottoError", "SottoWarning", "TimedOut", "UsageError"]


class SottoWarning(UserWarning):
    """A warning of the program about a run that it carried out."""


class SottoError(Exception):
    """The program failed. ``code`` is its exit code, ``verb`` what it was asked to do.

    ``said`` is what it said on standard error, also which records cannot be used: it is for the owner
    of the records, and neither in the message nor in ``details``.
    """

    code: int = 1
    said: str = ""

    def __init__(self, message: str, *, code: int | None = None, verb: str = "", details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.verb = verb
        self.details: Mapping[str, Any] = dict(details or {})
        if code is not None:
            self.code = code


class UsageError(SottoError):
    """An argument, a file or a setting is wrong; nothing was charged (exit code 2)."""

    code = 2


class DataError(UsageError):
    """Records that were given as Python objects cannot be written for the program."""


class BudgetRefused(SottoError):
    """The budget of the data set does not allow the run; nothing was charged (exit code 3)."""

    code = 3

    @property
    def limit(self) -> float | None:
        """The ε that the budget allows."""
        return self._number("limit")

    @property
    def spent(self) -> float | None:
        """The ε that is spent."""
        return self._number("spent")

    @property
    def needed(self) -> float | None:
        """The ε that would be spent after this run."""
        return self._number("needed")

    def _number(self, name: str) -> float | None:
        refused = self.details.get("refused")
        value = refused.get(name) if isinstance(refused, dict) else None
        return float(value) if isinstance(value, (int, float)) else None


class TimedOut(SottoError):
    """The program did not end in time and was stopped. The same call continues with the run."""


class Interrupted(SottoError):
    """The program was stopped by a signal. The same call continues with the run."""


class ProgramNotFound(SottoError):
    """There is no program to call."""
