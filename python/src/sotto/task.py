"""A task as a Python object, in place of a file."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import tempfile
from typing import Iterator, Sequence, Union

__all__ = ["Task", "TaskLike"]


@dataclasses.dataclass(frozen=True)
class Task:
    """What records are and how prompts are laid out; ``docs/text.md`` explains task files.

    A task is public: nothing in it may come from the records. ``text`` and ``label`` are columns
    of the data (for ``kind="generate"``: the output and the input).
    """

    text: str
    label: str
    labels: Sequence[str] = ()
    kind: str = "classify"
    instruction: str = ""
    write: str = ""
    input: str = ""
    output: str = ""
    shots: int | None = None
    max_tokens: int | None = None
    answer_tokens: int | None = None
    record_tokens: int | None = None
    input_tokens: int | None = None
    name: str = "task"

    def toml(self) -> str:
        """The task as a file."""
        generating = self.kind == "generate"
        lines = [f"kind = {_string(self.kind)}"]
        if generating:
            lines += [f"input = {_string(self.label)}", f"output = {_string(self.text)}"]
        else:
            lines += [f"text = {_string(self.text)}", f"label = {_string(self.label)}"]
        if self.labels:
            lines.append(f"labels = [{', '.join(_string(label) for label in self.labels)}]")
        write: dict[str, str] = {"instruction": self.write or self.instruction}
        answer: dict[str, str] = {"instruction": self.instruction}
        if self.input:
            answer["input"] = self.input
        if self.output:
            answer["output"] = self.output
        for table, values in (("generate", write), ("answer", answer)):
            if any(values.values()):
                lines += ["", f"[{table}]", *(f"{key} = {_string(value)}" for key, value in values.items() if value)]
        limits = {"shots": self.shots, "max_tokens": self.max_tokens, "answer_tokens": self.answer_tokens, "record_tokens": self.record_tokens, "input_tokens": self.input_tokens}
        if any(value is not None for value in limits.values()):
            lines += ["", "[limits]", *(f"{key} = {value}" for key, value in limits.items() if value is not None)]
        return "\n".join(lines) + "\n"


#: A task: a name of ``sotto task list``, the path of a task file, or a :class:`Task`.
TaskLike = Union[str, "os.PathLike[str]", Task]


@contextlib.contextmanager
def task_file(task: TaskLike) -> Iterator[str]:
    """What the program takes for ``--task``."""
    if not isinstance(task, Task):
        yield os.fspath(task)
        return
    with tempfile.TemporaryDirectory(prefix="sotto-py-") as folder:
        path = pathlib.Path(folder, (re.sub(r"[^\w-]+", "-", task.name).strip("-") or "task") + ".toml")
        path.write_text(task.toml(), encoding="utf-8")
        yield str(path)


def _string(value: str) -> str:
    """A TOML string: JSON's, with the one control character that JSON lets through."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
