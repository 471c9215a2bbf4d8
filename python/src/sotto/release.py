"""The folder of a run: examples that may go to any model, and the certificate that says so."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import os
import pathlib
import re
from typing import TYPE_CHECKING, Any, Mapping, Protocol

from .errors import SottoError
from .results import Run, Verification

if TYPE_CHECKING:
    import datasets
    import pandas

__all__ = ["Release"]


class Verifier(Protocol):
    """Checks certificates, as a :class:`Client` does."""

    def verify(self, dir: str | os.PathLike[str], *, key: str | os.PathLike[str] | None = None, strict: bool = False) -> Verification: ...


@dataclasses.dataclass(frozen=True)
class Release:
    """What a run released. Whether it may be shown to others depends on its ε: see ``report.html``.

    ``run`` is what the run that made it answered; it is None for a folder that was opened with
    :meth:`Client.release`. ``client`` checks it.
    """

    dir: pathlib.Path
    client: Verifier = dataclasses.field(repr=False, compare=False)
    run: Run | None = dataclasses.field(default=None, repr=False)

    @property
    def examples(self) -> list[dict[str, Any]]:
        """The examples, with your column names. There are none where the records chose a prompt without."""
        chosen = self._maybe("prompt.json")
        if chosen is not None and not json.loads(chosen).get("examples"):
            return []
        return [json.loads(line) for line in self._text("demos.jsonl").splitlines() if line.strip()]

    @property
    def messages(self) -> list[dict[str, str]]:
        """Instruction and examples as the beginning of a chat: put the question after it.

        A prompt that was chosen as one message has them in the question: see :meth:`turns`.
        """
        chat = self._maybe("chat.json")
        if chat is not None:
            found = json.loads(chat)
            return list(found["messages"] if isinstance(found, dict) else found)
        turns: list[dict[str, str]] = []
        for line in self._text("messages.jsonl").splitlines():
            for turn in json.loads(line)["messages"] if line.strip() else []:
                if turn["role"] != "system" or turn not in turns:
                    turns.append(turn)
        if not turns and self.instruction:
            turns.append({"role": "system", "content": self.instruction})
        return turns

    def turns(self, text: str) -> list[dict[str, str]]:
        """A whole chat that asks about a text, as the records judged it.

        Where they chose to give each question its nearest examples, it has the first ones, which they did
        not judge: ``sotto eval`` and ``sotto serve`` find the nearest.
        """
        chat = json.loads(self._text("chat.json"))
        asked = str(chat["question"]).replace(chat["placeholder"], text.strip())
        return [*chat["messages"], {"role": "user", "content": asked}]

    def read(self, written: str) -> str:
        """The answer in what a model wrote: one of the labels, or the first line; empty if there is none."""
        chat = json.loads(self._text("chat.json"))
        name = re.escape(chat.get("name", ""))
        text = re.sub(rf"\s*(?:{name})?\s*", "", written, count=1, flags=re.IGNORECASE)
        if "labels" not in chat:
            return re.split("|".join(map(re.escape, chat.get("stop", ["\n"]))), text)[0].strip()
        labels = {label: label for label in chat["labels"]} | chat.get("aliases", {})
        found = [each for each in labels if re.match(re.escape(each) + r"(?![^\W_])", text, flags=re.IGNORECASE)]
        return str(labels[max(found, key=len)]) if found else ""

    @property
    def prompt(self) -> str:
        """Instruction and examples as text: put the question after it."""
        return self._text("prompt.txt")

    @property
    def instruction(self) -> str:
        """The instruction that the records chose, or the task's."""
        chosen = self._maybe("prompt.json")
        if chosen is not None:
            return str(json.loads(chosen).get("instruction") or "")
        return str(json.loads(self._text("dspy.json"))["signature"].get("instructions") or "")

    @property
    def certificate(self) -> pathlib.Path:
        """The path of the certificate. :meth:`verify` checks it."""
        return self.dir / "certificate.json"

    @property
    def private(self) -> bool:
        """Whether the run says that it has a guarantee, or a folder that was opened has a certificate.

        Anyone who gets a folder from others asks :meth:`verify`, which checks it.
        """
        return self.run.private if self.run is not None else self.certificate.exists()

    @property
    def epsilon(self) -> float:
        """The ε of the release, as its certificate claims; infinite where there is none."""
        claim = self.claim.get("epsilon")
        return float(claim["upper"]) if claim else math.inf

    @property
    def delta(self) -> float:
        """The δ of the release, as its certificate claims."""
        return float(self.claim.get("delta", 0.0))

    @property
    def unit(self) -> str:
        """Whom it protects: ``record``, or ``user:COLUMN``."""
        return str(self.claim.get("unit", ""))

    @property
    def claim(self) -> Mapping[str, Any]:
        """What the certificate claims, NOT verified: see :meth:`verify`."""
        if not self.certificate.exists():
            return {}
        envelope = json.loads(self._text("certificate.json"))
        predicate = json.loads(base64.b64decode(envelope["payload"]))["predicate"]
        return dict(predicate)

    def verify(self, *, key: str | os.PathLike[str] | None = None, strict: bool = False) -> Verification:
        """Checks signature, files and ε; raises :class:`VerificationFailed` if one does not hold."""
        return self.client.verify(self.dir, key=key, strict=strict)

    def to_pandas(self) -> pandas.DataFrame:
        """The examples as a DataFrame."""
        import pandas

        frame: pandas.DataFrame = pandas.DataFrame(self.examples)
        return frame

    def to_dataset(self) -> datasets.Dataset:
        """The examples as a Dataset of Hugging Face."""
        import datasets

        data: datasets.Dataset = datasets.Dataset.from_list(self.examples)
        return data

    def _maybe(self, name: str) -> str | None:
        path = self.dir / name
        return path.read_text(encoding="utf-8") if path.exists() else None

    def _text(self, name: str) -> str:
        text = self._maybe(name)
        if text is None:
            raise SottoError(f"{self.dir} has no {name}: it is not the folder of a release that is complete")
        return text
