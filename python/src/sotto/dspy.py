"""An optimiser for DSPy: few-shot examples that private records choose.

:class:`PrivateFewShot` stands where ``BootstrapFewShotWithRandomSearch`` stands: it takes a student
and a trainset and returns a program with demonstrations. What differs:

- Private records never become demonstrations, and no prediction is made on them with DSPy: they go
  to the program ``sotto`` on this machine, which draws some, lets its own model judge candidates on
  them, and releases which candidate won, with noise. No score is released, so that there are no
  ``candidate_programs``.
- Candidates are made from ``examples``, which are public, or texts that sotto's model writes.
- The records judge by whether the answer is right (for free text: by its overlap with what is
  wanted). A metric of your own would see the records, and there is none.
- The student has one predictor with one output. With ``examples`` it may have several inputs.
"""

from __future__ import annotations

import enum
import os
import random
import typing
from typing import Any, Mapping, Sequence

import dspy
from dspy.teleprompt.teleprompt import Teleprompter

from ._program import Option
from .client import Client
from .errors import UsageError
from .release import Release
from .task import Task

__all__ = ["PrivateFewShot"]


class PrivateFewShot(Teleprompter):  # type: ignore[misc]  # DSPy has no types
    """Compiles a program whose demonstrations private records chose, with a certificate.

    ``size`` is how many records there are, a public number. ``out`` is the folder of the release;
    the same call continues with a run that was interrupted. ``examples`` are public: DSPy examples or
    dicts. Those without the output are answered by the teacher, or the student.

    With ``num_candidate_programs`` that many sets of up to ``max_demos`` examples are drawn at
    random, and the records choose one of them or none, once, as random search does. Without it, the
    program's own search varies the winner over several rounds, which is usually better.

    ``labels`` are the possible outputs, if the signature does not say so by ``Literal``, ``bool``
    or an enum. ``instructions`` are others to try beside the signature's own. ``client`` has the
    ledger, the keys and the model that judges; ``flags`` and ``settings`` are further ones of ``sotto synth``,
    or of ``sotto synth`` if there are no examples.
    """

    def __init__(
        self,
        *,
        epsilon: float,
        size: int | str,
        out: str | os.PathLike[str],
        delta: float | None = None,
        examples: Sequence[Mapping[str, Any] | dspy.Example] = (),
        labels: Sequence[str] = (),
        instructions: Sequence[str] = (),
        num_candidate_programs: int | None = None,
        max_demos: int | None = None,
        seed: int = 0,
        rounds: int | None = None,
        records: int | None = None,
        time: str | None = None,
        name: str | None = None,
        client: Client | None = None,
        flags: Mapping[str, Option] | None = None,
        settings: Mapping[str, Option] | None = None,
    ) -> None:
        super().__init__()
        if num_candidate_programs is not None and not examples:
            raise UsageError("num_candidate_programs draws sets of public examples: give examples too")
        self.epsilon, self.size, self.out, self.delta = epsilon, size, out, delta
        self.examples, self.labels, self.instructions = list(examples), list(labels), list(instructions)
        self.num_candidate_programs, self.max_demos, self.seed = num_candidate_programs, max_demos, seed
        self.rounds, self.records, self.time, self.name = rounds, records, time, name
        self.client, self.flags, self.settings = client or Client(), dict(flags or {}), dict(settings or {})

    def compile(
        self,
        student: dspy.Module,
        *,
        trainset: Sequence[Mapping[str, Any] | dspy.Example],
        teacher: dspy.Module | None = None,
        valset: Sequence[Mapping[str, Any] | dspy.Example] | None = None,
    ) -> dspy.Module:
        """A copy of the student with demonstrations; its ``release`` has ε and the certificate.

        ``trainset`` and ``valset`` are private, and are the records of one data set together.
        ``teacher`` answers public examples that have no output, and sees nothing else.
        """
        layout = _Layout(student, self.labels)
        records = [layout.row(record, f"record {i}") for i, record in enumerate([*trainset, *(valset or ())], 1)]
        examples = [self._answered(layout, example, i, teacher or student) for i, example in enumerate(self.examples, 1)]
        demos = {_key(layout.row(example, "")): example for example in examples}
        release = self._run(layout, records, [layout.row(example, "") for example in examples])
        compiled = student.reset_copy()
        predictor = compiled.predictors()[0]
        predictor.demos = [demos.get(_key(row)) or layout.example(row) for row in release.examples]
        if release.instruction:
            predictor.signature = predictor.signature.with_instructions(release.instruction)
        compiled._compiled = True
        compiled.release = release
        return compiled

    def get_params(self) -> dict[str, Any]:
        """The settings, as DSPy asks for them."""
        return {name: value for name, value in self.__dict__.items() if name != "client"}

    def _run(self, layout: _Layout, records: list[dict[str, str]], examples: list[dict[str, str]]) -> Release:
        task = layout.task(self.max_demos)
        flags: dict[str, Option] = {**self.flags}
        settings: dict[str, Option] = {**self.settings}
        if layout.labels:
            settings.setdefault("reading", "raw")  # DSPy sees what a model writes, and no probabilities
        if not examples:
            if layout.several or not layout.labels:
                raise UsageError("there are no public examples to choose from: give examples; sotto's model writes them only where there is one input, and the output is one of a list")
            return self.client.synthesize(
                task, records, size=self.size, epsilon=self.epsilon, delta=self.delta, out=self.out, name=self.name, time=self.time, rounds=self.rounds,
                records=self.records, shots=self.max_demos, instructions=self.instructions, flags=flags, settings=settings,
            )
        sets: list[list[dict[str, str]]] = []
        if self.num_candidate_programs is not None:
            most = min(self.max_demos or 16, len(examples))
            draw = random.Random(self.seed)
            sets = [draw.sample(examples, draw.randint(1, most)) for _ in range(self.num_candidate_programs)]
        return self.client.synthesize(
            task, records, size=self.size, epsilon=self.epsilon, delta=self.delta, out=self.out, name=self.name, time=self.time, rounds=self.rounds,
            records=self.records, sets=sets, examples=None if sets else examples, pool=None if sets else 0, instructions=self.instructions, flags=flags, settings=settings,
        )

    @staticmethod
    def _answered(layout: _Layout, example: Mapping[str, Any] | dspy.Example, ordinal: int, teacher: dspy.Module) -> dspy.Example:
        """A public example with its output: its own, or the teacher's."""
        values = dict(example.items())
        missing = [field for field in layout.inputs if field not in values]
        if missing:
            raise UsageError(f"example {ordinal} has no {', '.join(missing)}")
        if values.get(layout.output) is None:
            values[layout.output] = teacher(**{field: values[field] for field in layout.inputs})[layout.output]
        return layout.checked(values, f"example {ordinal}")


class _Layout:
    """How the one predictor of a student is a task: which fields it has, and what outputs are possible."""

    def __init__(self, student: dspy.Module, labels: Sequence[str]) -> None:
        predictors = student.predictors()
        if len(predictors) != 1:
            raise UsageError(f"the student has {len(predictors)} predictors: records choose the examples of one")
        self.signature = predictors[0].signature
        outputs = list(self.signature.output_fields)
        if len(outputs) != 1:
            raise UsageError(f"the student's predictor has the outputs {', '.join(outputs)}: records judge one (dspy.ChainOfThought adds one, dspy.Predict does not)")
        self.inputs, self.output = list(self.signature.input_fields), outputs[0]
        if not self.inputs:
            raise UsageError("the student's predictor has no input")
        self.several = len(self.inputs) > 1
        self.values = _values(self.signature.output_fields[self.output].annotation)
        self.labels = list(labels) or list(self.values)
        #: The columns of the task.
        self.text = "input" if self.several else self.inputs[0]

    def task(self, shots: int | None) -> Task:
        generating = not self.labels
        return Task(
            text=self.output if generating else self.text, label=self.text if generating else self.output, labels=self.labels,
            kind="generate" if generating else "classify", instruction=str(self.signature.instructions or ""),
            input="Input" if self.several else _prefix(self.signature, self.inputs[0]), output=_prefix(self.signature, self.output), shots=shots, name="dspy",
        )

    def row(self, record: Mapping[str, Any] | dspy.Example, what: str) -> dict[str, str]:
        """A record with the columns of the task. Several inputs become one text, a line each."""
        missing = [field for field in (*self.inputs, self.output) if record.get(field) is None]
        if missing:
            raise UsageError(f"{what} has no {', '.join(missing)}")
        if self.several:
            text = "\n".join(f"{_prefix(self.signature, field)}: {record.get(field)}" for field in self.inputs)
        else:
            text = str(record.get(self.inputs[0]))
        return {self.text: text, self.output: _label(record.get(self.output))}

    def example(self, row: Mapping[str, Any]) -> dspy.Example:
        """A demonstration from a text that sotto's model wrote."""
        return dspy.Example({self.inputs[0]: row[self.text], self.output: self.values.get(row[self.output], row[self.output])}).with_inputs(*self.inputs)

    def checked(self, values: Mapping[str, Any], what: str) -> dspy.Example:
        if self.labels and _label(values[self.output]) not in self.labels:
            raise UsageError(f"the {self.output} of {what} is none of {', '.join(self.labels)}")
        return dspy.Example({field: values[field] for field in (*self.inputs, self.output)}).with_inputs(*self.inputs)


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    """What a released example is known again by: the program trims texts."""
    return tuple(str(value).strip() for _, value in sorted(row.items()))


def _values(annotation: Any) -> dict[str, Any]:
    """The values that an output can take, by the words for them; none if any will do."""
    if annotation is bool:
        return {"True": True, "False": False}
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return {str(member.value): member for member in annotation}
    if typing.get_origin(annotation) is typing.Literal:
        return {str(value): value for value in typing.get_args(annotation)}
    return {}


def _label(value: Any) -> str:
    return str(value.value if isinstance(value, enum.Enum) else value)


def _prefix(signature: Any, field: str) -> str:
    """What stands before a field in a prompt."""
    extra = signature.fields[field].json_schema_extra or {}
    return str(extra.get("prefix") or field).strip().rstrip(":")
