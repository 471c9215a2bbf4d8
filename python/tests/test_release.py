"""Texts: what a run releases, and what its examples are worth."""

from __future__ import annotations

import json
import pathlib

import pytest
from conftest import EXAMPLES, TASK, office

import sotto

pytestmark = pytest.mark.filterwarnings("ignore::sotto.SottoWarning")


def test_learn(place: pathlib.Path) -> None:
    release = sotto.learn(TASK, office(300), size=300, epsilon=8, out="labels", name="office")
    assert release.epsilon <= 8 and release.verify(strict=True).ok and not (release.dir / "chat.json").exists()
    texts = ["The printer on floor 9 is broken", "", '{"message": 1}', "The telephone on desk 4\nis silent"]
    found = sotto.predict(release, texts)
    assert len(found) == len(texts) and found[0].label == "Blue" and found[3].label == "Red"
    assert all(sum(one.probabilities) == pytest.approx(1) and one.labels == ("Blue", "Red") for one in found)
    assert sotto.predict("labels", texts[:1])[0].label == "Blue"


def test_choose(place: pathlib.Path) -> None:
    seen: list[sotto.Progress] = []
    client = sotto.Client(on_progress=seen.append)
    release = client.synthesize(
        TASK, office(300), size=300, epsilon=8, out="chosen", sets=[EXAMPLES[:4], EXAMPLES], instructions=["Blue or Red?"], records=40, reading="raw",
        settings={"measurement-share": 0}, name="office",
    )
    assert {"reserved", "round", "committed", "completed"} <= {p.event for p in seen}
    assert release.dir == place / "chosen" and release.epsilon <= 8 and release.delta == pytest.approx(1e-6) and release.certificate.exists()
    assert release.examples in ([], EXAMPLES[:4], EXAMPLES) and release.instruction in (TASK.instruction, "Blue or Red?")
    assert release.prompt.startswith(release.instruction)
    messages = release.messages
    assert messages[0] == {"role": "system", "content": release.instruction} and len(messages) == 1 + 2 * len(release.examples)
    assert [m["content"] for m in messages[2::2]] == [e["desk"] for e in release.examples]
    assert "office" not in repr(release) and release.verify(strict=True).ok

    rows = client.evaluate(TASK, demos=["zero", release], test=office(12, seed=3), calibrate=False).rows
    assert [row.demos for row in rows] == ["zero", str(release.dir)] and all(0 <= row.value <= 1 for row in rows)
    sotto.run("ledger", "grant", "office", epsilon=1, delta=1e-5, reason="a number")
    measured = client.evaluate_private(TASK, office(300), size=300, epsilon=0.5, out="measured", demos=[release], records=20)
    assert measured.low <= measured.value <= measured.high and measured.epsilon <= 0.5


def test_synthesize(place: pathlib.Path) -> None:
    release = sotto.synthesize(TASK, office(300), size=300, epsilon=8, out="written", method="clipped", shots=2, settings={"batch": 8, "tokens": 6})
    assert len(release.examples) == 2 and {example["desk"] for example in release.examples} == {"Blue", "Red"}
    frame, data = release.to_pandas(), release.to_dataset()
    assert list(frame.columns) == ["message", "desk"] and frame.to_dict("records") == data.to_list() == release.examples
    assert len(release.messages) == 5


def test_chat_file_comes_first(place: pathlib.Path) -> None:
    """A release that has chat.json is read from it, in either of its forms."""
    folder = place / "made"
    folder.mkdir()
    turns = [{"role": "system", "content": "Sort."}]
    for form in (turns, {"messages": turns}):
        (folder / "chat.json").write_text(json.dumps(form))
        assert sotto.release(folder).messages == turns
    with pytest.raises(sotto.SottoError, match="demos.jsonl"):
        sotto.release(folder).examples


def test_turns_and_answers(place: pathlib.Path) -> None:
    """A question is laid out as the records judged it, and an answer read as they read it."""
    folder = place / "judged"
    folder.mkdir()
    chat = {"messages": [], "question": "Sort.\n\nText: {text}\nDesk:", "placeholder": "{text}", "labels": ["Red", "Red tape"], "aliases": {"rouge": "Red"}, "name": "Desk:"}
    (folder / "chat.json").write_text(json.dumps(chat))
    release = sotto.release(folder)
    assert release.turns(" a {b} \n") == [{"role": "user", "content": "Sort.\n\nText: a {b}\nDesk:"}]
    for written, want in {" red.": "Red", "RED TAPE": "Red tape", "Red tapes": "Red", "Reddish": "", "desk:\nrouge!": "Red", "": "", "It is Red": ""}.items():
        assert release.read(written) == want
    del chat["labels"], chat["aliases"]
    (folder / "chat.json").write_text(json.dumps(chat | {"stop": ["\n", "##"]}))
    assert release.read("Desk: one ## two\nthree") == "one"
