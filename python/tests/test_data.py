"""How records go to the program: the same whatever they come as, and gone afterwards."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import stat
from typing import Any

import datasets
import numpy
import pandas
import pytest
from conftest import EXAMPLES, office, waits

import sotto
from sotto import _data


def read(records: Any, **options: Any) -> str:
    with _data.hand(records, **options) as handed:
        return pathlib.Path(handed.location).read_text()


def test_all_kinds_are_the_same() -> None:
    records = office(50)
    text = read(records)
    assert [json.loads(line) for line in text.splitlines()] == records
    assert read(pandas.DataFrame(records)) == read(datasets.Dataset.from_list(records)) == read(iter(records)) == text
    assert read(pandas.DataFrame(records, index=range(100, 150))) == text  # an index is no column
    table = waits(20)
    assert read(pandas.DataFrame(table), table=True) == read(table, table=True)
    assert read(table, table=True).splitlines()[0] == "waited,team"


def test_values() -> None:
    frame = pandas.DataFrame(
        {"a": [1, 2], "b": [0.5, float("nan")], "c": ["x", None], "d": pandas.to_datetime(pandas.Series(["2026-01-02", None])), "e": pandas.array([1, None], dtype="Int64"), 7: [True, False]}
    )
    rows = [json.loads(line) for line in read(frame).splitlines()]
    assert rows[0] == {"a": 1, "b": 0.5, "c": "x", "d": "2026-01-02T00:00:00", "e": 1, "7": True}
    assert rows[1] == {"a": 2, "b": None, "c": None, "d": None, "e": None, "7": False}
    assert json.loads(read([{"n": numpy.float32(0.5), "v": numpy.arange(3), "day": datetime.date(2026, 1, 2), "in": {"k": ["ü\u2028\n"]}}])) == {
        "n": 0.5, "v": [0, 1, 2], "day": "2026-01-02", "in": {"k": ["ü\u2028\n"]},
    }


def test_class_labels_are_names() -> None:
    data = datasets.Dataset.from_dict({"message": ["a", "b"], "desk": [1, 0]}, features=datasets.Features({"message": datasets.Value("string"), "desk": datasets.ClassLabel(names=["Blue", "Red"])}))
    assert [json.loads(line)["desk"] for line in read(data.with_format("numpy")).splitlines()] == ["Red", "Blue"]
    with pytest.raises(sotto.DataError, match='data\\["train"\\]'):
        read(datasets.DatasetDict({"train": data}))


def test_wrong_data() -> None:
    frame = pandas.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(sotto.DataError, match="several columns a"):
        read(frame)
    with pytest.raises(sotto.DataError, match="record 2 has a bytes in the column a"):
        read([{"a": "x"}, {"a": b"x"}])
    with pytest.raises(sotto.DataError, match="row 2 has other columns"):
        read([{"a": 1}, {"b": 1}], table=True)
    with pytest.raises(sotto.DataError, match="no rows"):
        read([], table=True)


@pytest.mark.parametrize("memory", [True, False])
def test_nothing_stays(memory: bool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory nothing of a record has a name; in a folder nobody else reads it. Both go, also after errors."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shared = pathlib.Path("/dev/shm")
    if not memory:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    elif not hasattr(os, "memfd_create"):
        pytest.skip("there is no such memory here")

    def left() -> list[pathlib.Path]:
        return [*tmp_path.iterdir(), *(shared.glob("sotto-py-*") if shared.is_dir() else [])]

    open_before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    try:
        with _data.hand(office(5)) as handed:
            assert pathlib.Path(handed.location).read_text().count("\n") == 5
            folders = left()
            assert len(folders) == 1 and stat.S_IMODE(folders[0].stat().st_mode) == 0o700
            files = list(folders[0].iterdir())
            if memory:
                assert [file.is_symlink() for file in files] == [True] and len(handed.inherit) == 2
            else:
                assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600] and not handed.inherit
            raise KeyError
    except KeyError:
        pass
    assert not left()
    with pytest.raises(sotto.DataError):
        with _data.hand([{"a": object()}]):
            pass
    assert not left()
    assert not open_before or len(os.listdir("/proc/self/fd")) == open_before


@pytest.mark.filterwarnings("ignore::sotto.SottoWarning")
def test_one_budget_for_the_same_records(place: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame, a data set, a list, a file and the rows in another order are one data set of the ledger."""
    rows = waits(300)
    pandas.DataFrame(rows).to_csv("waits.csv", index=False)
    made = sotto.table_perturb("waits.toml", pandas.DataFrame(rows), epsilon=1, out="one", name="waits")
    assert made.rows == 300 == len(pandas.read_csv(made.file)) and made.epsilon == 1
    sotto.run("ledger", "grant", "waits", epsilon=1.5, reason="test")
    sotto.table_perturb("waits.toml", "waits.csv", epsilon=0.5, out="two")
    sotto.table_perturb("waits.toml", datasets.Dataset.from_list(rows), epsilon=0.5, out="three")
    monkeypatch.delattr(os, "memfd_create", raising=False)
    sotto.table_perturb("waits.toml", rows[::-1], epsilon=0.5, out="four")
    assert [row.dataset for row in sotto.ledger_list().rows] == ["waits"]
    shown = sotto.ledger_show("waits")
    assert shown.budgets[0].spent == pytest.approx(2.5) and len(shown.charges) == 4
    with pytest.raises(sotto.BudgetRefused):
        sotto.table_perturb("waits.toml", rows, epsilon=0.5, out="five")
    # Rows that look like them are for their owner to decide about.
    with pytest.raises(sotto.UsageError, match="shares records"):
        sotto.table_perturb("waits.toml", waits(200, seed=2), epsilon=0.5, out="six", name="waits")


@pytest.mark.filterwarnings("ignore::sotto.SottoWarning")
def test_indexes_do_not_pile_up(place: pathlib.Path) -> None:
    task = sotto.Task(text="message", label="desk", labels=["Blue", "Red"], instruction="Sort.", name="desks")
    data = office(200)
    for i in range(3):
        try:
            sotto.synthesize(task, data, size=200, epsilon=1, out=f"out-{i}", sets=[EXAMPLES[:2]], records=2, settings={"known": True, "measurement-share": 0})
        except sotto.SottoError as e:
            assert e.code in (2, 3)
    index = list(place.glob("home/data/sotto/private/index/*.index"))
    assert len(index) == 1, index
