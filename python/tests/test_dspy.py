"""The optimiser with the real DSPy, and predictions by the program's own service."""

from __future__ import annotations

import enum
import pathlib
from typing import Any, Literal

import dspy
import pytest
from conftest import EXAMPLES, office

import sotto
from sotto.dspy import PrivateFewShot

pytestmark = pytest.mark.filterwarnings("ignore::sotto.SottoWarning")


class Sort(dspy.Signature):  # type: ignore[misc]
    """Say which desk takes care of the message."""

    message: str = dspy.InputField()
    desk: Literal["Blue", "Red"] = dspy.OutputField()


class Desk(enum.Enum):
    BLUE = "Blue"
    RED = "Red"


class Described(dspy.Signature):  # type: ignore[misc]
    """Say which desk takes care of the message."""

    floor: str = dspy.InputField()
    problem: str = dspy.InputField()
    desk: Desk = dspy.OutputField()


def private(n: int) -> list[Any]:
    return [dspy.Example(record).with_inputs("message") for record in office(n)]


def quick(**options: Any) -> PrivateFewShot:
    return PrivateFewShot(**{"epsilon": 8, "size": 300, "out": "compiled", "records": 40, "name": "office", "settings": {"measurement-share": 0}, **options})


@pytest.fixture(autouse=True)
def no_cache() -> None:
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)


def test_compile_and_predict(service: str) -> None:
    records = private(300)
    student = dspy.Predict(Sort)
    compiled = quick(examples=EXAMPLES, num_candidate_programs=4, max_demos=6).compile(student, trainset=records[:200], valset=records[200:])
    assert not student.demos and compiled is not student

    # The choice is a set of public examples, and costs what the ledger says.
    assert compiled.demos and all(dict(demo.items()) in EXAMPLES and set(demo.inputs().keys()) == {"message"} for demo in compiled.demos)
    release = compiled.release
    assert release.epsilon <= 8 and release.certificate.exists() and release.verify().ok
    shown = sotto.ledger_show("office")
    assert shown.budgets[0].spent == pytest.approx(release.epsilon) and len(shown.charges) == 1
    with pytest.raises(sotto.BudgetRefused):
        quick(examples=EXAMPLES, out="again").compile(student, trainset=records)

    # The program is one of DSPy's: it is saved, loaded and asked, and no record is in what it sends.
    compiled.save("program.json")
    loaded = dspy.Predict(Sort)
    loaded.load("program.json")
    assert [dict(demo) for demo in loaded.demos] == [dict(demo.items()) for demo in compiled.demos]
    lm = dspy.LM("openai/plain", api_base=service, api_key="none", max_tokens=40, temperature=0)
    question = "The printer on floor 8 is on fire"
    with dspy.context(lm=lm):
        answers = [program(message=question).desk for program in (compiled, loaded)]
    assert answers[0] == answers[1] and answers[0] in ("Blue", "Red")
    sent = str(lm.history[0]["messages"])
    assert question in sent and all(demo.message in sent for demo in compiled.demos)
    assert not [record for record in records if record.message in sent]


def test_search_in_rounds_with_several_inputs(place: pathlib.Path) -> None:
    """Several inputs are one text for the records, and come back as they were."""
    examples = [dspy.Example(floor=f"Floor {i}", problem=e["message"].split(" on ")[0] + " is broken", desk=Desk(e["desk"])).with_inputs("floor", "problem") for i, e in enumerate(EXAMPLES)]
    records = [dspy.Example(floor=f"Floor {i % 9}", problem=r["message"], desk=r["desk"]) for i, r in enumerate(office(300))]
    optimiser = quick(examples=examples, records=4, rounds=1, max_demos=2)
    compiled = optimiser.compile(dspy.Predict(Described), trainset=records)
    assert all(demo in examples for demo in compiled.demos)
    assert compiled.release.epsilon <= 8 and "client" not in optimiser.get_params()


def test_free_text(place: pathlib.Path) -> None:
    """Outputs that are written are judged by their overlap."""
    examples = [{"question": "Where is the cat?", "answer": "On the mat."}, {"question": "Where is Ann?", "answer": "In the kitchen."}]
    records = [dspy.Example(question=f"Where is box {i}?", answer=f"In room {i % 7}.") for i in range(100)]
    optimiser = quick(examples=examples, num_candidate_programs=2, records=6, size=100, name="boxes", epsilon=4)
    compiled = optimiser.compile(dspy.Predict(dspy.Signature("question -> answer", "Answer.")), trainset=records)
    assert all(dict(demo.items()) in examples for demo in compiled.demos) and compiled.signature.instructions == "Answer."
    assert "ROUGE" in (compiled.release.dir / "plan.json").read_text().upper() and compiled.release.verify().ok


def test_teacher_answers_public_examples(place: pathlib.Path) -> None:
    asked = []

    class Teacher(dspy.Module):  # type: ignore[misc]
        def forward(self, message: str) -> Any:
            asked.append(message)
            return dspy.Prediction(desk="Blue" if "printer" in message else "Red")

    bare = [{"message": example["message"]} for example in EXAMPLES]
    compiled = quick(examples=bare, num_candidate_programs=2).compile(dspy.Predict(Sort), trainset=private(300), teacher=Teacher())
    assert asked == [example["message"] for example in EXAMPLES]
    assert all(dict(demo.items()) in EXAMPLES for demo in compiled.demos)


def test_the_model_writes(place: pathlib.Path) -> None:
    """Without public examples the texts to choose from are sotto's own."""
    optimiser = quick(records=2, rounds=1, max_demos=2, settings={"measurement-share": 0, "pool": 4, "tokens": 6, "generation-share": 0})
    compiled = optimiser.compile(dspy.Predict(Sort), trainset=private(300))
    assert compiled.release.verify().ok and all(demo.desk in ("Blue", "Red") and demo.message for demo in compiled.demos)


def test_what_does_not_fit(place: pathlib.Path) -> None:
    class Two(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = dspy.Predict(Sort), dspy.Predict(Sort)

    for student, why in ((Two(), "2 predictors"), (dspy.ChainOfThought(Sort), "reasoning, desk"), (dspy.Predict("message -> desk"), "give examples")):
        with pytest.raises(sotto.UsageError, match=why):
            quick().compile(student, trainset=private(10))
    with pytest.raises(sotto.UsageError, match="record 1 has no desk"):
        quick(examples=EXAMPLES).compile(dspy.Predict(Sort), trainset=[dspy.Example(message="x")])
    with pytest.raises(sotto.UsageError, match="example 1 is none of Blue, Red"):
        quick(examples=[{"message": "x", "desk": "Green"}]).compile(dspy.Predict(Sort), trainset=private(10))
    with pytest.raises(sotto.UsageError, match="give examples too"):
        quick(num_candidate_programs=3)
    assert not sotto.ledger_list().rows
