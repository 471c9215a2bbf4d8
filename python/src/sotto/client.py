"""The verbs of the program as methods."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import typing
import warnings
from typing import Any, Callable, Iterable, Mapping, Sequence, Union

from . import _data, _program, errors, results
from ._data import Records
from ._program import Option
from .release import Release
from .task import TaskLike, task_file

__all__ = ["Client"]

#: A path, as text or as an object.
StrPath = Union[str, "os.PathLike[str]"]

#: Verbs that have verbs of their own.
_GROUPS = {"eval", "keys", "ledger", "model", "serve", "table", "task"}


class Client:
    """Calls the program, with settings for all calls.

    ``ledger``, ``keys``, ``private``, ``model`` and ``config`` stand for the program's variables
    of the same names (SOTTO_LEDGER, …); what is None is as on the command line. ``timeout`` is in
    seconds and for each call. ``on_progress`` is called in the caller's thread.

    Further flags of a verb go into ``flags``, with their names on the command line, and settings (``sotto plan
    --help`` lists them) into ``settings``: ``flags={"seed": 1}, settings={"batch": 16, "known": True}``.
    """

    def __init__(
        self,
        *,
        program: StrPath | None = None,
        ledger: StrPath | None = None,
        keys: StrPath | None = None,
        private: StrPath | None = None,
        model: StrPath | None = None,
        config: StrPath | None = None,
        timeout: float | None = None,
        on_progress: Callable[[results.Progress], None] | None = None,
    ) -> None:
        self._program = None if program is None else os.fspath(program)
        settings = {"SOTTO_LEDGER": ledger, "SOTTO_KEYS": keys, "SOTTO_PRIVATE": private, "SOTTO_MODEL": model, "SOTTO_CONFIG": config}
        self._environment = {name: os.fspath(value) for name, value in settings.items() if value is not None}
        self.timeout = timeout
        self.on_progress = on_progress

    def run(self, *arguments: str, **options: Option) -> dict[str, Any]:
        """Runs any verb and returns its object: ``run("ledger", "grant", "records", epsilon=1, reason="…")``."""
        return self._call(arguments, options)[-1]

    def account(
        self, event: str, *, delta: float | str | None = None, size: int | None = None, epsilon: float | None = None, adjacency: str | None = None,
        accountant: str | None = None,
    ) -> results.Account:
        """The ε that an event costs."""
        return results.Account.read(self._one(("account", event), {"delta": delta, "size": size, "epsilon": epsilon, "adjacency": adjacency, "accountant": accountant}))

    def calibrate(
        self, event: str, *, epsilon: float, delta: float | str | None = None, size: int | None = None, adjacency: str | None = None, accountant: str | None = None
    ) -> results.Calibration:
        """The number x for which an event costs at most ε."""
        return results.Calibration.read(self._one(("calibrate", event), {"epsilon": epsilon, "delta": delta, "size": size, "adjacency": adjacency, "accountant": accountant}))

    def plan(
        self, task: TaskLike, *, size: int | str, epsilon: float, delta: float | None = None, methods: Sequence[str] = (), shots: int | None = None,
        answers: int | None = None, settings: Mapping[str, Option] | None = None,
        flags: Mapping[str, Option] | None = None,
    ) -> results.Plan:
        """What each method would do and cost; no record is read."""
        with task_file(task) as named:
            options = {"task": named, "size": size, "epsilon": epsilon, "delta": delta, "method": methods, "shots": shots, "answers": answers}
            return results.Plan.read(self._one(("plan",), _joined(options, flags, settings)))

    def rehearse(
        self, task: TaskLike, *, size: int | str, epsilon: float, stand_in: Records | None = None, delta: float | None = None, examples: Records | None = None,
        shots: int | None = None, time: str | None = None, rounds: int | None = None, records: int | None = None, items: int | None = None,
        out: StrPath | None = None, settings: Mapping[str, Option] | None = None,
        flags: Mapping[str, Option] | None = None,
    ) -> results.Rehearsal:
        """A whole run on stand-in records, which are public, or which the model invents; nothing is charged."""
        with task_file(task) as named, _data.public(stand_in, "stand-in") as stand, _data.public(examples) as pool:
            options = {
                "task": named, "size": size, "epsilon": epsilon, "delta": delta, "stand-in": stand, "examples": pool, "shots": shots, "time": time, "out": out,
            }
            return results.Rehearsal.read(self._one(("rehearse",), _joined(options, flags, settings, rounds=rounds, records=records, items=items)))

    def synthesize(
        self, task: TaskLike, data: Records, *, size: int | str, epsilon: float, out: StrPath, delta: float | None = None, name: str | None = None,
        unit: str | None = None, method: str | None = None, sets: Iterable[Records] = (), examples: Records | None = None,
        instructions: Sequence[str] = (), shots: int | None = None, time: str | None = None, rounds: int | None = None, records: int | None = None,
        pool: int | None = None, reading: str | None = None, settings: Mapping[str, Option] | None = None, flags: Mapping[str, Option] | None = None,
    ) -> Release:
        """Synthetic examples from private records, with a certificate.

        With ``sets`` of public examples nothing is written: the records choose among them. With ``pool=0``
        they choose among sets that are made from ``examples``. ``size`` is how many records there are, a
        public number, or "auto". The run resumes where it stopped when the same call is repeated with the
        same ``out``, and nothing is charged twice.
        """
        with contextlib.ExitStack() as stack:
            named = stack.enter_context(task_file(task))
            given = stack.enter_context(_data.public(examples))
            several = [path for i, s in enumerate(sets) if (path := stack.enter_context(_data.public(s, f"set-{i + 1}"))) is not None]
            options = {
                "task": named, "size": size, "epsilon": epsilon, "out": out, "delta": delta, "unit": unit, "method": method, "from": several,
                "examples": given, "instruction": instructions, "shots": shots, "time": time,
            }
            own = _joined(options, flags, settings, rounds=rounds, records=records, pool=pool, reading=reading)
            return self._released(("synth",), data, name, own)

    def learn(
        self, task: TaskLike, data: Records, *, size: int | str, epsilon: float, out: StrPath, delta: float | None = None, name: str | None = None,
        unit: str | None = None, measuring: float | None = None, settings: Mapping[str, Option] | None = None,
        flags: Mapping[str, Option] | None = None,
    ) -> Release:
        """A private classifier of records with a list of labels, which needs no language model: see :meth:`predict`."""
        with task_file(task) as named:
            options = {"task": named, "size": size, "epsilon": epsilon, "out": out, "delta": delta, "unit": unit}
            return self._released(("learn",), data, name, _joined(options, flags, settings, **{"measurement-share": measuring}))

    def predict(self, classifier: StrPath | Release, texts: Sequence[str]) -> list[results.Label]:
        """Labels of texts by what :meth:`learn` released; it costs nothing, however often."""
        found = self._call(
            ("predict", str(classifier.dir if isinstance(classifier, Release) else classifier)), {"data": "-", "text-column": "text"},
            stdin="".join(json.dumps({"text": text}) + "\n" for text in texts),
        )[-1]
        return [results.Label.read({**one, "labels": found["labels"]}) for one in _warned(found)["predictions"]]

    def answer(
        self, task: TaskLike, data: Records, question: str, *, size: int | str, epsilon: float, delta: float | None = None, name: str | None = None,
        unit: str | None = None, method: str | None = None, max_tokens: int | None = None, settings: Mapping[str, Option] | None = None,
        flags: Mapping[str, Option] | None = None,
    ) -> results.Answer:
        """A private answer to a question; each one is charged."""
        with task_file(task) as named:
            options = {"task": named, "size": size, "epsilon": epsilon, "delta": delta, "unit": unit, "method": method, "max-tokens": max_tokens, "input": "-"}
            found = self._private(("answer",), data, name, _joined(options, flags, settings), stdin=question)
            return results.Answer.read(_warned(found[-1]))

    def answers(
        self, task: TaskLike, data: Records, questions: Sequence[str], *, size: int | str, epsilon: float, together: bool = False, delta: float | None = None,
        name: str | None = None, unit: str | None = None, method: str | None = None, max_tokens: int | None = None, settings: Mapping[str, Option] | None = None,
        flags: Mapping[str, Option] | None = None,
    ) -> list[results.Answer]:
        """Private answers to several questions: ``epsilon`` is for each, or with ``together`` for all of them.

        They are refused as a whole unless the budget allows all of them.
        """
        with contextlib.ExitStack() as stack:
            named = stack.enter_context(task_file(task))
            shown = self._one(("task", "show", named), {})
            column = shown["label" if shown["kind"] == "generate" else "text"]
            asked = stack.enter_context(_data.public([{column: question} for question in questions], "questions"))
            options = {
                "task": named, "size": size, "epsilon": epsilon, "delta": delta, "unit": unit, "method": method, "max-tokens": max_tokens, "inputs": asked,
                "answers": len(questions) if together else None,
            }
            return [results.Answer.read(_warned(line)) for line in self._private(("answer",), data, name, _joined(options, flags, settings))]

    def evaluate(
        self, task: TaskLike, *, demos: Sequence[StrPath | Release], test: Records, metric: str | None = None, limit: int | None = None,
        shots: int | None = None, calibrate: bool | None = None, settings: Mapping[str, Option] | None = None, flags: Mapping[str, Option] | None = None,
    ) -> results.Evaluation:
        """What examples are worth: how well a model answers the questions of a public test set with them."""
        with task_file(task) as named, _data.public(test, "test") as questions:
            sets = [demo.dir if isinstance(demo, Release) else demo for demo in demos]
            options = {"task": named, "demos": sets, "test": questions, "metric": metric, "limit": limit, "shots": shots}
            return results.Evaluation.read(self._one(("eval",), _joined(options, flags, settings, calibrate=calibrate)))

    def evaluate_private(
        self, task: TaskLike, data: Records, *, size: int | str, epsilon: float, out: StrPath,
        demos: Sequence[StrPath | Release] = (), delta: float | None = None, name: str | None = None, unit: str | None = None,
        metric: str | None = None, records: int | None = None, settings: Mapping[str, Option] | None = None,
        flags: Mapping[str, Option] | None = None,
    ) -> results.Measured:
        """How well a model answers on the private records themselves, with noise; it is charged."""
        with task_file(task) as named:
            sets = [demo.dir if isinstance(demo, Release) else demo for demo in demos]
            options = {
                "task": named, "size": size, "epsilon": epsilon, "out": out, "demos": sets, "delta": delta, "unit": unit, "metric": metric, "records": records,
            }
            return results.Measured.read(_warned(self._private(("eval", "private"), data, name, _joined(options, flags, settings))[-1]))

    def table_profile(
        self, schema: StrPath, data: Records, *, size: int | str, epsilon: float, out: StrPath, groups: int | None = None,
        group: Sequence[str] = (), delta: float | None = None, name: str | None = None, unit: str | None = None,
        settings: Mapping[str, Option] | None = None, flags: Mapping[str, Option] | None = None,
    ) -> Release:
        """Typical rows of the groups of a private table, with noise, as examples."""
        options = {"schema": schema, "size": size, "epsilon": epsilon, "out": out, "groups": groups, "group": group, "delta": delta, "unit": unit}
        return self._released(("table", "profile"), data, name, _joined(options, flags, settings), table=True)

    def table_perturb(
        self, schema: StrPath, data: Records, *, epsilon: float, out: StrPath, name: str | None = None, settings: Mapping[str, Option] | None = None,
        flags: Mapping[str, Option] | None = None,
    ) -> results.Perturbed:
        """Rows of a private table, each changed at random on its own."""
        options = _joined({"schema": schema, "epsilon": epsilon, "out": out}, flags, settings)
        return results.Perturbed.read(_warned(self._private(("table", "perturb"), data, name, options, table=True)[-1]))

    def verify(self, dir: StrPath, *, key: StrPath | None = None, strict: bool = False) -> results.Verification:
        """Checks a certificate against its files; raises :class:`VerificationFailed` if a check does not hold."""
        try:
            return results.Verification.read(self._one(("verify", os.fspath(dir)), {"key": key, "strict": strict or None}))
        except results.VerificationFailed as e:
            if "checks" in e.details:
                e.verification = results.Verification.read(e.details)
            raise

    def ledger_list(self) -> results.Data:
        """The data sets of the ledger."""
        return results.Data.read(self._one(("ledger", "list"), {}))

    def ledger_show(self, dataset: str) -> results.LedgerEntry:
        """A data set of the ledger: its budgets and its charges."""
        return results.LedgerEntry.read(self._one(("ledger", "show", dataset), {}))

    def release(self, dir: StrPath) -> Release:
        """The folder of a run that was made before."""
        return Release(pathlib.Path(dir).absolute(), self)

    def version(self) -> str:
        """The version of the program."""
        return str(self._one(("version",), {})["version"])

    def _released(self, verb: tuple[str, ...], data: Records, name: str | None, options: dict[str, Option], *, table: bool = False) -> Release:
        run = results.Run.read(_warned(self._private(verb, data, name, options, table=table)[-1]))
        return Release(pathlib.Path(run.dir).absolute(), self, run)

    def _private(
        self, verb: tuple[str, ...], data: Records, name: str | None, options: dict[str, Option], *, table: bool = False, stdin: str | None = None
    ) -> list[dict[str, Any]]:
        with _data.hand(data, name=name, table=table) as handed:
            few = {**typing.cast(Mapping[str, Option], options.get("set") or {}), **({"name": name} if name is not None else {})}
            return self._call(verb, {**options, "data": handed.location, "set": typing.cast(Option, few or None)}, inherit=handed.inherit, stdin=stdin)

    def _one(self, arguments: tuple[str, ...], options: Mapping[str, Option]) -> dict[str, Any]:
        return _warned(self._call(arguments, options)[-1])

    def _call(self, arguments: tuple[str, ...], options: Mapping[str, Option], *, inherit: Sequence[int] = (), stdin: str | None = None) -> list[dict[str, Any]]:
        verb = " ".join(arguments[: 2 if arguments and arguments[0] in _GROUPS else 1])
        return _program.run(
            self._program or _program.find(), [*arguments, *_program.flags(options)], verb=verb, environment=self._environment, stdin=stdin, inherit=inherit,
            timeout=self.timeout, on_progress=self.on_progress,
        )


def _joined(
    options: Mapping[str, Any], flags: Mapping[str, Option] | None, settings: Mapping[str, Option] | None = None, **own: Option
) -> dict[str, Option]:
    """Options and further flags, each flag once, and settings, those of arguments among them."""
    joined = _once("--", options, flags)
    if given := {name: value for name, value in _once("the setting ", own, settings).items() if value is not None}:
        joined["set"] = typing.cast(Option, given)
    return joined


def _once(kind: str, options: Mapping[str, Any], more: Mapping[str, Option] | None) -> dict[str, Option]:
    """Both, unless they give the same twice."""
    joined: dict[str, Option] = dict(options)
    for name, value in (more or {}).items():
        name = name.lstrip("-").replace("_", "-")
        if joined.get(name) not in (None, (), []):
            raise errors.UsageError(f"{kind}{name} is given as an argument and again")
        joined[name] = value
    return joined


def _warned(found: dict[str, Any]) -> dict[str, Any]:
    """Passes the program's warnings on to Python's."""
    for text in found.get("warnings") or ():
        warnings.warn(str(text), errors.SottoWarning, stacklevel=4)
    return found
