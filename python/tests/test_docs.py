"""The examples of docs/python.md run as they are printed."""

from __future__ import annotations

import pathlib
import re
from typing import Any, Sequence

import dspy
import pandas
import pytest
from conftest import office
from dspy.utils.exceptions import AdapterParseError

import sotto
from sotto import _program

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"

README = pathlib.Path(__file__).resolve().parents[1] / "README.md"

#: What makes a run quick, for each verb.
QUICK: dict[str, list[str]] = {
    "synth": ["--set=rounds=1", "--set=records=4", "--set=pool=4", "--set=tokens=6", "--set=generation-share=0", "--set=measurement-share=0", "--shots=2"],
    "choice": ["--set=rounds=1", "--set=records=4", "--set=measurement-share=0"],
    "answer": ["--set=prompts=8"],
}


def blocks(page: pathlib.Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)


def test_readme() -> None:
    """What the wheel says about itself is part of the examples, which run."""
    lines = {line for example in blocks(PAGE) for line in example.splitlines()}
    assert blocks(README) and {line for example in blocks(README) for line in example.splitlines()} <= lines


@pytest.mark.filterwarnings("ignore::sotto.SottoWarning")
def test_examples(service: str, place: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    examples = blocks(PAGE)
    assert len(examples) == 5
    pandas.DataFrame(office(400)).to_csv("tickets.csv", index=False)
    monkeypatch.setenv("SERVICE", service)
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    real, asked = _program.run, []

    def quick(program: str, arguments: Sequence[str], **options: Any) -> Any:
        asked.append(arguments[0])
        # A size of 20,000 is for the reader: with it, none of these few records would be drawn.
        arguments = ["--size=400" if argument == "--size=20000" else argument for argument in arguments]
        return real(program, [*arguments, *QUICK.get("choice" if any("--from" in a or "pool=0" in a for a in arguments) else arguments[0], [])], **options)

    monkeypatch.setattr(_program, "run", quick)
    names: dict[str, Any] = {}
    for example in examples:
        try:
            exec(compile(example, str(PAGE), "exec", dont_inherit=True), names)
        except AdapterParseError:
            # The last line of the last example. With noise, no examples at all can win, and without
            # any the small default model does not keep to DSPy's layout.
            assert example is examples[-1] and not names["program"].demos
    assert {"synth", "learn", "answer", "eval", "verify"} <= set(asked)
    assert "is spent" in capsys.readouterr().out  # the second example was refused first, and had to ask for more
    assert names["program"].release.verify().ok and len(sotto.ledger_list().rows) == 1
    states = [charge["state"] for charge in sotto.ledger_show("tickets").charges]
    assert states == ["committed"] * 5
