"""Records on their way to the program.

A path or the address of a database goes to the program as it is. A frame, a data set or a list
of dicts is written to memory that has no name in the file system (on Linux; the kernel frees it
when this process and the program end, however they end), and elsewhere to a file that nobody
else may read, in a folder of its own that is removed in the end.

The same records give the same bytes, and the program knows records again by what they hold, so
that a frame that is given twice has one budget. Errors name a record by its ordinal and a column
by its name, and never what is in it.
"""

from __future__ import annotations

import collections.abc
import contextlib
import csv
import datetime
import io
import json
import math
import os
import pathlib
import re
import shutil
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, Union

from .errors import DataError

if TYPE_CHECKING:
    import datasets
    import pandas

#: Records: a path or address, a DataFrame, a Dataset, or dicts.
Records = Union[str, "os.PathLike[str]", "pandas.DataFrame", "datasets.Dataset", Iterable[Mapping[str, Any]]]

#: File descriptors from here on are for the program, so that paths through them stay the same.
_DESCRIPTORS = 100


class Handed:
    """How the program reaches records: a location for its flags, and what it inherits."""

    def __init__(self, location: str, inherit: tuple[int, ...] = ()) -> None:
        self.location, self.inherit = location, inherit

    def __repr__(self) -> str:
        return "Handed()"


@contextlib.contextmanager
def hand(records: Records, *, name: str | None = None, table: bool = False) -> Iterator[Handed]:
    """Makes records readable for the program while the context lasts."""
    if isinstance(records, (str, os.PathLike)):
        yield Handed(os.fspath(records))
        return
    file = (re.sub(r"[^\w.-]+", "-", name or "").strip(".-") or "records") + (".csv" if table else ".jsonl")
    write = _csv if table else _jsonl
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        with _in_memory(records, file, write) as handed:
            yield handed
    else:
        with _in_folder(records, file, write) as handed:
            yield handed


Writer = Callable[[Iterator[Mapping[str, Any]], io.TextIOBase], None]


@contextlib.contextmanager
def _in_memory(records: Records, file: str, write: Writer) -> Iterator[Handed]:
    """Memory without a name. The program keeps an index for each location, so the location is the
    same every time: a folder by its descriptor, with a link to the memory's descriptor."""
    import fcntl

    with contextlib.ExitStack() as stack:

        def high(descriptor: int) -> int:
            moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _DESCRIPTORS)
            os.close(descriptor)
            stack.callback(os.close, moved)
            return moved

        folder = tempfile.mkdtemp(prefix="sotto-py-")
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        opened = high(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
        memory = high(os.memfd_create("sotto"))
        _fill(memory, records, write)
        os.symlink(f"/proc/self/fd/{memory}", os.path.join(folder, file))
        yield Handed(f"/proc/self/fd/{opened}/{file}", (opened, memory))


@contextlib.contextmanager
def _in_folder(records: Records, file: str, write: Writer) -> Iterator[Handed]:
    """A file of mode 0600 in a folder of mode 0700, in memory where there is a file system for that."""
    shared = "/dev/shm"
    folder = tempfile.mkdtemp(prefix="sotto-py-", dir=shared if os.path.isdir(shared) and os.access(shared, os.W_OK) else None)
    try:
        path = os.path.join(folder, file)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            _fill(descriptor, records, write)
        finally:
            os.close(descriptor)
        yield Handed(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill(descriptor: int, records: Records, write: Writer) -> None:
    with open(descriptor, "w", encoding="utf-8", newline="", closefd=False) as f:
        write(rows(records), f)


def rows(records: Any) -> Iterator[Mapping[str, Any]]:
    """The records of a frame, a data set or a list, with plain values."""
    found: Iterator[Mapping[str, Any]]
    kind = f"{type(records).__module__.partition('.')[0]}.{type(records).__name__}"
    if kind == "pandas.DataFrame":
        found = _frame(records)
    elif kind == "datasets.Dataset":
        found = _dataset(records)
    elif kind in ("datasets.DatasetDict", "datasets.IterableDatasetDict"):
        raise DataError('the data is a DatasetDict: choose a split, such as data["train"]')
    elif isinstance(records, (Mapping, bytes)) or not isinstance(records, collections.abc.Iterable):
        raise DataError(f"records are a path, a DataFrame, a Dataset or a list of dicts, not a {type(records).__name__}")
    else:
        found = iter(records)
    for ordinal, record in enumerate(found, 1):
        if not isinstance(record, Mapping):
            raise DataError(f"record {ordinal} is a {type(record).__name__}: records are dicts from column to value")
        yield {str(column): _plain(value, ordinal, str(column)) for column, value in record.items()}


def _frame(frame: Any) -> Iterator[Mapping[str, Any]]:
    columns = [str(c) for c in frame.columns]
    twice = sorted({c for c in columns if columns.count(c) > 1})
    if twice:
        raise DataError(f"the frame has several columns {', '.join(twice)}: rename them")
    return (dict(zip(columns, values)) for values in zip(*(frame.iloc[:, i] for i in range(len(columns)))))


def _dataset(data: Any) -> Iterator[Mapping[str, Any]]:
    """Rows of a Dataset; numbers of a ClassLabel become the names that they stand for."""
    names = {column: feature.names for column, feature in data.features.items() if type(feature).__name__ == "ClassLabel"}
    for ordinal, row in enumerate(data.with_format(None), 1):
        for column, labels in names.items():
            value = row[column]
            if value is not None and not 0 <= value < len(labels):
                raise DataError(f"record {ordinal} has no label of the column {column}: its number is not one of {len(labels)}")
            row[column] = None if value is None else labels[value]
        yield row


def _plain(value: Any, ordinal: int, column: str) -> Any:
    """A value as JSON has it: what is missing is null."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (datetime.date, datetime.time)):
        return None if type(value).__name__ == "NaTType" else value.isoformat()
    if isinstance(value, Mapping):
        return {str(k): _plain(v, ordinal, column) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v, ordinal, column) for v in value]
    if type(value).__name__ == "NAType":
        return None
    for convert in ("item", "tolist"):  # numbers and arrays of numpy
        if type(value).__module__.partition(".")[0] == "numpy" and getattr(value, "ndim", None) == (0 if convert == "item" else 1):
            return _plain(getattr(value, convert)(), ordinal, column)
    raise DataError(f"record {ordinal} has a {type(value).__name__} in the column {column}: give text, a number, a date or nothing")


def _jsonl(found: Iterator[Mapping[str, Any]], f: io.TextIOBase) -> None:
    for record in found:
        f.write(json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
        f.write("\n")


def _csv(found: Iterator[Mapping[str, Any]], f: io.TextIOBase) -> None:
    """A table: its columns are those of the first row."""
    writer: csv.DictWriter[str] | None = None
    for ordinal, record in enumerate(found, 1):
        if writer is None:
            writer = csv.DictWriter(f, list(record), lineterminator="\n")
            writer.writeheader()
        if set(record) != set(writer.fieldnames):
            raise DataError(f"row {ordinal} has other columns than the first")
        writer.writerow({k: "" if v is None else v for k, v in record.items()})
    if writer is None:
        raise DataError("the table has no rows, so that its columns are not known")


@contextlib.contextmanager
def public(records: Records | None, name: str = "examples") -> Iterator[str | None]:
    """Public examples as a file that the program can read."""
    if records is None or isinstance(records, (str, os.PathLike)):
        yield None if records is None else os.fspath(records)
        return
    with tempfile.TemporaryDirectory(prefix="sotto-py-") as folder:
        path = pathlib.Path(folder, name + ".jsonl")
        with path.open("w", encoding="utf-8", newline="") as f:
            _jsonl(rows(records), f)
        yield str(path)
