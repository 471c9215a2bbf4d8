"""Sotto for Python: synthetic examples and answers from private records, with a guarantee.

The wheel carries the program; this package calls it. Functions of the module are the methods of a
:class:`Client` with the settings of the command line. ``docs/python.md`` has examples.
"""

from ._data import Records
from ._program import find as program
from .client import Client
from .errors import BudgetRefused, DataError, Interrupted, ProgramNotFound, SottoError, SottoWarning, TimedOut, UsageError
from .release import Release
from .results import Account, Answer, Calibration, Evaluation, Label, LedgerEntry, Measured, Perturbed, Plan, Progress, Rehearsal, Run, Verification, VerificationFailed
from .task import Task, TaskLike

_default = Client()
account = _default.account
answer = _default.answer
answers = _default.answers
calibrate = _default.calibrate
evaluate = _default.evaluate
evaluate_private = _default.evaluate_private
learn = _default.learn
ledger_list = _default.ledger_list
ledger_show = _default.ledger_show
plan = _default.plan
predict = _default.predict
rehearse = _default.rehearse
release = _default.release
run = _default.run
synthesize = _default.synthesize
table_perturb = _default.table_perturb
table_profile = _default.table_profile
verify = _default.verify
version = _default.version

__all__ = [
    "Account", "Answer", "BudgetRefused", "Calibration", "Client", "DataError", "Evaluation", "Interrupted", "Label", "LedgerEntry", "Measured", "Perturbed", "Plan", "ProgramNotFound",
    "Progress", "Records", "Rehearsal", "Release", "Run", "SottoError", "SottoWarning", "Task", "TaskLike", "TimedOut", "UsageError", "Verification",
    "VerificationFailed", "account", "answer", "answers", "calibrate", "evaluate", "evaluate_private", "learn", "ledger_list", "ledger_show", "plan",
    "predict", "program", "rehearse", "release", "run", "synthesize", "table_perturb", "table_profile", "verify", "version",
]
