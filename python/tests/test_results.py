"""The dataclasses have what the program prints: make docs writes its JSON Schema."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import typing
from typing import Any

import pytest

import sotto
from sotto import results

SCHEMAS = json.loads((pathlib.Path(__file__).resolve().parents[2] / "dist/docs/schemas/results.schema.json").read_text(encoding="utf-8"))["$defs"]

VERBS: dict[str, type[results.Result]] = {
    "account": results.Account, "answer": results.Answer, "calibrate": results.Calibration, "eval": results.Evaluation,
    "eval-private": results.Measured, "ledger-list": results.Data, "ledger-show": results.LedgerEntry, "plan": results.Plan, "rehearse": results.Rehearsal,
    "synth": results.Run, "table-perturb": results.Perturbed, "table-profile": results.Run, "verify": results.Verification,
}

#: A dataclass for several verbs has keys that one of them lacks.
SHARED = {
    "eval-private": {"method", "texts", "worth"}, "table-profile": {"method", "model", "texts", "worth"}, "comparisons of eval-private": {"p", "p_adjusted"}, "rows of eval-private": {"examples", "metric", "n"},
    "rows of eval": {"examples"}, "rows of rehearse": {"demos", "n"},
}


def objects(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects that a value can be, or that a list holds."""
    if "$ref" in schema:
        return objects(SCHEMAS[schema["$ref"].removeprefix("#/$defs/")])
    if "anyOf" in schema:
        return [found for part in schema["anyOf"] for found in objects(part)]
    if "items" in schema:
        return objects(schema["items"])
    return [schema] if "properties" in schema else []


def differences(kind: type[results.Result], schema: dict[str, Any], where: str) -> list[str]:
    """Keys that a dataclass names and the program does not print, or not always."""
    forms, hints, found = objects(schema), typing.get_type_hints(kind), []
    assert forms, where
    for field in dataclasses.fields(kind):
        if field.name == "raw" or field.name in SHARED.get(where, ()):
            continue
        known = [form["properties"][field.name] for form in forms if field.name in form["properties"]]
        if not known:
            found.append(f"{where} has no {field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING and not all(field.name in form.get("required", ()) for form in forms):
            found.append(f"{where} does not always have {field.name}")
        for part in (hints[field.name], *typing.get_args(hints[field.name])):
            if known and isinstance(part, type) and issubclass(part, results.Result):
                found += differences(part, {"anyOf": known}, f"{field.name} of {where}")
    return found


@pytest.mark.parametrize("verb", VERBS)
def test_keys(verb: str) -> None:
    assert differences(VERBS[verb], SCHEMAS["sotto-" + verb], verb) == []


def test_reading() -> None:
    read = results.Account.read({"event": "e", "delta": 0, "adjacency": "a", "epsilon_lower": 1, "epsilon_upper": "Infinity", "new": 3, "at_epsilon": {"epsilon": 1}, "warnings": ["w"]})
    assert read.epsilon_upper == float("inf") and read.raw["new"] == 3 and read.warnings == ("w",) and "new" not in repr(read)
    assert isinstance(read.delta, float) and read.at_epsilon == results.AtEpsilon(epsilon=1.0)
    with pytest.raises(sotto.SottoError, match="epsilon_upper"):
        results.Account.read({"event": "e", "delta": 0, "adjacency": "a", "epsilon_lower": 1})
