"""The client and the program: results, errors by exit code, and what ends a call."""

from __future__ import annotations

import math
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback

import pytest
from conftest import EXAMPLES, TASK, children_with, office, waits

import sotto


def test_the_command_is_there(place: pathlib.Path) -> None:
    program = pathlib.Path(sotto.program())
    assert program.parent == pathlib.Path(sys.executable).parent.resolve()
    assert subprocess.run([program, "version"], capture_output=True, check=True).stdout
    module = subprocess.run([sys.executable, "-m", "sotto", "version", "--json"], capture_output=True, check=True, text=True)
    assert sotto.version() in module.stdout


def test_account(place: pathlib.Path) -> None:
    account = sotto.account("pure(0.5)", delta=0, epsilon=0.25)
    assert account.epsilon_upper == pytest.approx(0.5, rel=1e-9) and account.at_epsilon is not None
    assert 0 < account.at_epsilon.delta_upper < 1
    assert sotto.account("nonprivate()", delta=1e-6).epsilon_upper == math.inf
    found = sotto.calibrate("gaussian(x)", epsilon=1, delta=1e-6)
    assert found.extreme == "smallest" and found.epsilon_upper <= 1
    assert sotto.account(f"gaussian({found.x!r})", delta=1e-6).epsilon_upper == pytest.approx(1, abs=1e-3)


def test_errors(place: pathlib.Path) -> None:
    with pytest.raises(sotto.UsageError) as usage:
        sotto.account("gaussian(3)")
    assert usage.value.code == 2 and "--delta" in str(usage.value) and usage.value.verb == "account"
    with pytest.raises(sotto.SottoError) as failed:
        sotto.calibrate("compose(pure(2), gaussian(x))", epsilon=1, delta=1e-6)
    assert failed.value.code == 1 and type(failed.value) is sotto.SottoError
    with pytest.raises(sotto.UsageError, match="--delta is given"):
        sotto.plan(TASK, size=100, epsilon=1, delta=1e-5, flags={"delta": 1e-6})
    with pytest.raises(sotto.ProgramNotFound):
        sotto.Client(program=place / "absent").version()
    # A program that is something else.
    other = place / "other"
    other.write_text("#!/bin/sh\necho nothing\nexit 7\n")
    other.chmod(0o755)
    with pytest.raises(sotto.SottoError, match="exit code 7"):
        sotto.Client(program=other).version()


def test_budget_and_certificate(place: pathlib.Path) -> None:
    """A table needs no model. Two data sets have two budgets, and each refuses a second run."""
    rows = waits(300)
    with pytest.warns(sotto.SottoWarning, match="did not know"):
        release = sotto.table_profile("waits.toml", rows, size=300, epsilon=2, group=["team"], out="profile", name="waits")
    assert release.epsilon == pytest.approx(2) and release.private and release.unit == "record"
    assert release.run is not None and release.run.charge
    assert {example["label"] for example in release.examples} == {"billing", "login"}
    with pytest.raises(sotto.BudgetRefused) as refused:
        sotto.table_profile("waits.toml", rows, size=300, epsilon=1, group=["team"], out="more")
    assert refused.value.code == 3 and refused.value.limit == 2 and refused.value.needed == pytest.approx(3)
    assert sotto.ledger_show("waits").budgets[0].spent == pytest.approx(2)
    assert len(sotto.ledger_show("waits").charges) == 1
    assert [row.dataset for row in sotto.ledger_list().rows] == ["waits"]

    assert release.verify().ok
    again = sotto.release("profile")
    assert again.epsilon == release.epsilon and again.run is None and again.private
    (release.dir / "prompt.txt").write_text("another")
    with pytest.raises(sotto.VerificationFailed, match="prompt.txt") as tampered:
        again.verify()
    assert tampered.value.code == 4 and tampered.value.verification is not None
    assert [check.name for check in tampered.value.verification.checks if not check.ok]


def test_plan_and_rehearse(place: pathlib.Path) -> None:
    plan = sotto.plan(TASK, size=400, epsilon=4, methods=["clipped", "public"], shots=2)
    assert [row.method for row in plan.rows] == ["clipped", "public"] and (plan.rows[0].epsilon_upper or 0) <= 4
    rehearsal = sotto.rehearse(TASK, size=400, epsilon=4, stand_in=office(40, seed=9), items=4, shots=2, flags={"method": "clipped"}, settings={"sets": 1, "batch": 8, "tokens": 6})
    assert rehearsal.method == "clipped" and rehearsal.rows and rehearsal.epsilon <= 4
    assert not sotto.ledger_list().rows


def test_answers(place: pathlib.Path) -> None:
    data, settings = office(200), {"prompts": 8}
    with pytest.warns(sotto.SottoWarning):
        answer = sotto.answer(TASK, data, "The printer on floor 5 smokes", size=200, epsilon=4, name="office", settings=settings)
    assert answer.answer in ("Blue", "Red") and answer.private and answer.epsilon <= 4 and answer.epsilon_left is not None and answer.epsilon_left < 0.1
    with pytest.raises(sotto.BudgetRefused):
        sotto.answers(TASK, data, ["One?", "Two?"], size=200, epsilon=4, settings=settings)
    sotto.run("ledger", "grant", "office", epsilon=8, delta=1e-5, reason="more questions")
    both = sotto.answers(TASK, data, ["The phone\nis dead", "No ink"], size=200, epsilon=4, together=True, settings=settings)
    assert [a.input for a in both] == ["The phone\nis dead", "No ink"] and all(a.answer in ("Blue", "Red") for a in both)


CHOOSE = dict(size=300, epsilon=2, sets=[EXAMPLES[:4]], records=60, name="office", flags={"delta": 1e-5}, settings={"measurement-share": 0})

SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
import sotto
from test_client import CHOOSE, TASK, office
def say(progress): print(progress.event, flush=True)
sotto.Client(on_progress=say).synthesize(TASK, office(300), out="chosen", **CHOOSE)
"""


def test_interrupt_and_go_on(place: pathlib.Path) -> None:
    """Ctrl-C ends the program, leaves no records behind, and the same call continues with one charge."""
    temporary = place / "tmp"
    temporary.mkdir()
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(tests=str(pathlib.Path(__file__).parent))], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert child.stdout is not None and child.stderr is not None
    while "reserved" not in (line := child.stdout.readline()):
        assert line, child.stderr.read()
    assert children_with("--out=chosen") and any(temporary.iterdir())
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert "KeyboardInterrupt" in said and child.returncode != 0
    assert not children_with("--out=chosen")
    assert not any(temporary.iterdir())
    assert sotto.ledger_show("office").raw["rows"][0]["state"] == "reserved"

    release = sotto.synthesize(TASK, office(300), out="chosen", **CHOOSE)  # type: ignore[arg-type]
    assert release.run is not None and release.run.resumed and release.verify().ok
    assert [row["state"] for row in sotto.ledger_show("office").charges] == ["committed"]


def test_timeout_and_callbacks(place: pathlib.Path) -> None:
    began = time.monotonic()
    with pytest.raises(sotto.TimedOut, match="continues"):
        sotto.Client(timeout=1).synthesize(TASK, office(300), size=300, epsilon=1, out="slow")
    assert time.monotonic() - began < 30 and not children_with("--out=slow")

    class Mine(Exception):
        pass

    def refuse(progress: sotto.Progress) -> None:
        raise Mine

    with pytest.raises(Mine):
        sotto.Client(on_progress=refuse).synthesize(TASK, office(300), size=300, epsilon=1, out="refused")
    assert not children_with("--out=refused")

    def kill(progress: sotto.Progress) -> None:
        for child in children_with("--out=killed"):
            os.kill(child, signal.SIGKILL)

    with pytest.raises(sotto.Interrupted, match="signal 9"):
        sotto.Client(on_progress=kill).synthesize(TASK, office(300), size=300, epsilon=1, out="killed")


def test_no_ordinals_in_errors(place: pathlib.Path) -> None:
    """Which records cannot be used, and how many, is for the owner, and in no message."""
    records = [{"message": f"Question {i}", "desk": "Blue"} for i in range(300)]
    for ordinal in (137, 211):
        records[ordinal - 1] = {"message": "", "desk": "Blue"}
    with pytest.raises(sotto.UsageError) as e:
        sotto.synthesize(TASK, records, size=300, epsilon=1, out="out", sets=[EXAMPLES])
    kept = "".join(traceback.format_exception_only(e.value)) + repr(e.value.details)
    assert "malformed records" in kept and not any(found in kept for found in ("137", "211", "2 malformed"))
    assert "137" in e.value.said and "211" in e.value.said


def test_no_record_in_errors(place: pathlib.Path) -> None:
    """Nothing of a record is in an exception, its context, or what is printed of objects."""
    secret = "Aldous Brimble"
    for wrong in (
        [{"message": secret, "desk": "Blue"}, {"message": secret.encode(), "desk": "Red"}],
        [{"message": secret, "desk": secret}],
        [{"text": secret}],
        [secret],
        {"message": secret},
    ):
        with pytest.raises(sotto.UsageError) as e:
            sotto.synthesize(TASK, wrong, size=10, epsilon=1, out="out", sets=[EXAMPLES])
        assert secret not in "".join(traceback.format_exception_only(e.value)) + repr(e.value.details)
        assert e.value.__context__ is None and e.value.__cause__ is None
