"""What the program answers, as dataclasses.

Each has the keys that most callers need; ``raw`` is the whole object, with the names of
``sotto VERB --help``.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import typing
from typing import Any, Mapping, TypeVar

from .errors import SottoError

__all__ = [
    "Account", "Answer", "AtEpsilon", "Budget", "Calibration", "Check", "Comparison", "Data", "Evaluation", "Example", "Gain", "Interval", "LedgerEntry",
    "Measured", "Method", "Perturbed", "Plan", "Progress", "Recomputed", "Rehearsal", "Result", "Run", "Verification", "VerificationFailed", "Worth",
]

R = TypeVar("R", bound="Result")


@dataclasses.dataclass(frozen=True)
class Result:
    """An object of the program."""

    raw: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False, kw_only=True)

    @classmethod
    def read(cls: type[R], found: Mapping[str, Any]) -> R:
        """Takes what the dataclass names out of a JSON object, with its types."""
        types = typing.get_type_hints(cls)
        values: dict[str, Any] = {"raw": dict(found)}
        for field in dataclasses.fields(cls):
            if field.name != "raw" and found.get(field.name) is not None:
                values[field.name] = _value(found[field.name], types[field.name])
            elif field.name != "raw" and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
                raise SottoError(f"the program printed no {field.name}: it is of another version than this package (see sotto.program())")
        return cls(**values)


def _value(value: Any, kind: Any) -> Any:
    """A JSON value as a type that is used below: numbers, texts, results, and tuples of these."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if type(None) in inside:
        return _value(value, next(part for part in inside if part is not type(None)))
    if origin is tuple:
        return tuple(_value(item, inside[0]) for item in value)
    if isinstance(kind, type) and issubclass(kind, Result):
        return kind.read(value)
    if kind is float:
        return math.inf if value == "Infinity" else float(value)
    if kind in (int, str, bool):
        return kind(value)
    return value


@dataclasses.dataclass(frozen=True)
class Progress(Result):
    """Something that happened in a run. What it says may be for the operator's screen alone."""

    event: str
    message: str | None = None
    done: int | None = None
    most: int | None = None
    round: int | None = None
    rounds: int | None = None


@dataclasses.dataclass(frozen=True)
class AtEpsilon(Result):
    epsilon: float
    delta_lower: float = 0.0
    delta_upper: float = 1.0


@dataclasses.dataclass(frozen=True)
class Account(Result):
    """What an event costs. Only ``epsilon_upper`` may be claimed."""

    event: str
    delta: float
    adjacency: str
    epsilon_lower: float
    epsilon_upper: float
    accountant: str = ""
    warnings: tuple[str, ...] = ()
    at_epsilon: AtEpsilon | None = None


@dataclasses.dataclass(frozen=True)
class Calibration(Result):
    """The number ``x`` for which an event costs at most ``epsilon_target``."""

    x: float
    extreme: str
    event: str
    delta: float
    adjacency: str
    epsilon_lower: float
    epsilon_upper: float
    epsilon_target: float
    warnings: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Method(Result):
    """What one method would do and cost."""

    method: str
    error: str | None = None
    noise: str | None = None
    draws: str | None = None
    model_tokens: float | None = None
    seconds: float | None = None
    event: str | None = None
    epsilon_upper: float | None = None
    delta: float | None = None


@dataclasses.dataclass(frozen=True)
class Plan(Result):
    """What each method would do and cost at an ε. No record was read."""

    task: str
    epsilon: float
    delta: float
    model: str = ""
    rows: tuple[Method, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Example(Result):
    """A question and its answer: released, or made up."""

    input: str
    output: str


@dataclasses.dataclass(frozen=True)
class Worth(Result):
    """On how many of the private records the model is right, with noise and a 95 % interval."""

    metric: str
    value: float
    low: float
    high: float
    epsilon: float = 0.0


@dataclasses.dataclass(frozen=True)
class Run(Result):
    """A run that put files into a folder."""

    dir: str
    private: bool = False
    files: tuple[str, ...] = ()
    event: str | None = None
    epsilon: float = math.inf
    delta: float = 0.0
    adjacency: str | None = None
    unit: str | None = None
    guarantee: tuple[str, ...] = ()
    charge: str | None = None
    ledger: str | None = None
    resumed: bool = False
    warnings: tuple[str, ...] = ()
    method: str | None = None
    model: str | None = None
    texts: tuple[Example, ...] = ()
    worth: Worth | None = None


@dataclasses.dataclass(frozen=True)
class Interval(Result):
    """What a set of examples is worth, with a 95 % interval; NaN where nothing was measured."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    examples: str | None = None
    demos: str | None = None
    metric: str | None = None
    shots: int | None = None
    n: int | None = None


@dataclasses.dataclass(frozen=True)
class Gain(Result):
    """How far the run's examples are above others, in the metric's units."""

    over: str
    difference: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Rehearsal(Result):
    """A run on stand-in records. Nothing was charged, and nothing here is private."""

    method: str
    epsilon: float
    delta: float
    rows: tuple[Interval, ...] = ()
    gains: tuple[Gain, ...] = ()
    texts: tuple[Example, ...] = ()
    run_seconds: float = 0.0
    real_seconds_low: float = 0.0
    real_seconds_high: float = 0.0
    warnings: tuple[str, ...] = ()
    dir: str | None = None


@dataclasses.dataclass(frozen=True)
class Answer(Result):
    """A private answer, and what it was charged."""

    input: str
    answer: str
    method: str
    private: bool
    epsilon: float = math.inf
    delta: float = 0.0
    epsilon_spent: float | None = None
    epsilon_left: float | None = None
    epsilon_limit: float | None = None
    charge: str | None = None
    warnings: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Label(Result):
    """The label that a classifier gives a text, with the probability of each of ``labels``."""

    label: str
    labels: tuple[str, ...]
    probabilities: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class Comparison(Result):
    """Two sets of examples on the same questions."""

    a: str
    b: str
    difference: float
    low: float
    high: float
    p: float | None = None
    p_adjusted: float | None = None


@dataclasses.dataclass(frozen=True)
class Evaluation(Result):
    """How well a model answers public questions with sets of examples; one row each."""

    metric: str = ""
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    model: str = ""
    rows: tuple[Interval, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Measured(Run):
    """How well a model answers on the private records themselves, with noise."""

    dir: str = ""
    metric: str = ""
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    rows: tuple[Interval, ...] = ()
    comparisons: tuple[Comparison, ...] = ()


@dataclasses.dataclass(frozen=True)
class Perturbed(Result):
    """Rows of a private table, each changed at random on its own; ``file`` has them, as CSV."""

    out: str
    rows: int
    epsilon: float
    event: str
    adjacency: str
    private: bool = False
    guarantee: tuple[str, ...] = ()
    charge: str | None = None
    resumed: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def file(self) -> pathlib.Path:
        path = pathlib.Path(self.out)
        return path / "rows.csv" if path.is_dir() else path


@dataclasses.dataclass(frozen=True)
class Check(Result):
    name: str
    ok: bool
    warning: bool = False
    detail: str = ""


@dataclasses.dataclass(frozen=True)
class Recomputed(Result):
    """The verifier's own ε."""

    lower: float
    upper: float
    accountant: str = ""


@dataclasses.dataclass(frozen=True)
class Verification(Result):
    """The checks of a certificate."""

    ok: bool = False
    checks: tuple[Check, ...] = ()
    unlisted: tuple[str, ...] = ()
    predicate: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    recomputed: Recomputed | None = None


class VerificationFailed(SottoError):
    """A certificate does not hold (exit code 4). ``verification`` has every check."""

    code = 4

    def __init__(self, message: str, *, verb: str = "", details: Mapping[str, Any] | None = None, verification: Verification | None = None) -> None:
        super().__init__(message, verb=verb, details=details)
        self.verification = verification


@dataclasses.dataclass(frozen=True)
class Budget(Result):
    """A budget of a data set."""

    budget: str
    epsilon: float
    delta: float
    dataset: str = ""
    spent: float = 0.0
    left: float = 0.0
    name: str | None = None


@dataclasses.dataclass(frozen=True)
class Data(Result):
    """The data sets of a ledger."""

    ledger: str
    rows: tuple[Budget, ...] = ()


@dataclasses.dataclass(frozen=True)
class LedgerEntry(Result):
    """A data set: its budgets, and the charges to them (``charges``)."""

    ledger: str
    dataset: str = ""
    fingerprint: str = ""
    budgets: tuple[Budget, ...] = ()

    @property
    def charges(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(self.raw.get("rows") or ())
