"""What the tests share: the installed package, a user's home of their own, made-up records."""

from __future__ import annotations

import os
import pathlib
import random
import re
import subprocess
import sys
import time
from typing import Any, Iterator

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "true")  # litellm fetches nothing
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")
os.environ.setdefault("SOTTO_MODELS", str(pathlib.Path.home() / ".cache" / "sotto" / "models"))

import pytest

import sotto

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "src"

if SOURCE in pathlib.Path(sotto.__file__).resolve().parents:
    raise RuntimeError("the source tree is tested, and not the wheel: run make test-python")

LABELS = ["Blue", "Red"]

#: Which desk gets what is made up, so that a model knows it from examples alone.
TASK = sotto.Task(
    text="message", label="desk", labels=LABELS, instruction="Say which desk takes care of the message.", write="Given a desk, write a message for it.",
    input="Message", output="Desk", max_tokens=12, name="desks",
)

#: Public examples.
EXAMPLES = [
    {"message": "The printer on floor 7 is broken", "desk": "Blue"},
    {"message": "The telephone on desk 3 does not ring", "desk": "Red"},
    {"message": "The printer on floor 2 has no toner", "desk": "Blue"},
    {"message": "The phone on desk 12 is silent", "desk": "Red"},
    {"message": "The printer on floor 9 jams", "desk": "Blue"},
    {"message": "The phone on desk 40 is broken", "desk": "Red"},
]

SCHEMA = """title = "Waits"
label = "team"
template = "They waited {waited} days."
question = "Which team is this for?"

[[column]]
name = "waited"
kind = "numeric"
low = 0
high = 31
edges = [7, 14]

[[column]]
name = "team"
kind = "categorical"
values = ["billing", "login"]
"""


def office(n: int, seed: int = 1) -> list[dict[str, str]]:
    """Private records: each has a number that no public example has."""
    draw, made = random.Random(seed), []
    for _ in range(n):
        desk = draw.choice(LABELS)
        text = draw.choice({"Blue": ["The printer on floor {} is out of ink", "Paper is stuck in printer {}"], "Red": ["The phone on desk {} is dead", "Line {} of the telephone crackles"]}[desk])
        made.append({"message": text.format(draw.randint(100, 9999)), "desk": desk})
    return made


def waits(n: int, seed: int = 1) -> list[dict[str, Any]]:
    """Private rows of a table."""
    draw = random.Random(seed)
    return [{"waited": draw.randint(0, 31), "team": draw.choice(["billing", "login"])} for _ in range(n)]


@pytest.fixture
def place(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder to work in, the home of a user who has a ledger."""
    for name in [name for name in os.environ if name.startswith("SOTTO_") and name != "SOTTO_MODELS"]:
        monkeypatch.delenv(name)
    for name, folder in {"HOME": "home", "XDG_DATA_HOME": "home/data", "XDG_CONFIG_HOME": "home/config", "XDG_CACHE_HOME": "home/cache"}.items():
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.chdir(tmp_path)
    sotto.run("ledger", "init")
    pathlib.Path("waits.toml").write_text(SCHEMA)
    return tmp_path


@pytest.fixture
def service(place: pathlib.Path) -> Iterator[str]:
    """The address of the program's OpenAI interface, with a route "plain" to the default model."""
    sotto.run("serve", "route", "set", "plain", upstream="embedded")
    with open("service.log", "w+") as log:
        child = subprocess.Popen([sotto.program(), "serve", "--listen=127.0.0.1:0", "--admin=", "--open"], stdout=subprocess.DEVNULL, stderr=log)
        try:
            deadline = time.monotonic() + 120
            while not (found := re.search(r"serving (http://\S+/v1)", pathlib.Path("service.log").read_text())):
                assert child.poll() is None and time.monotonic() < deadline, "the service did not start"
                time.sleep(0.1)
            yield found[1]
        finally:
            child.terminate()
            child.wait(timeout=60)


def children_with(text: str) -> list[int]:
    """Processes that have a text among their arguments."""
    if sys.platform != "linux":
        pytest.skip("looks at /proc")
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (folder / "cmdline").read_bytes() and int(folder.name) != os.getpid():
                found.append(int(folder.name))
        except OSError:
            pass
    return found
