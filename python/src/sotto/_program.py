"""Finds the program and runs it: one JSON object comes back, progress comes line by line."""

from __future__ import annotations

import importlib.metadata
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import IO, Any, Callable, Mapping, Sequence, Union

from . import errors
from .results import Progress, VerificationFailed

#: The name of the distribution that carries this package and the program.
DISTRIBUTION = "sotto-dp"

#: What a flag of the program can be given as.
Option = Union[None, bool, int, float, str, "os.PathLike[str]", Sequence[Union[str, int, float, "os.PathLike[str]"]], Mapping[str, Union[str, int, float]]]

#: How much is kept of what the program says to people, in characters.
_MOST_SAID = 1 << 14

#: How long the program may take to end after it was interrupted, in seconds.
GRACE = 20.0


def find() -> str:
    """The path of the program: SOTTO_PROGRAM, what this wheel installed, or the command ``sotto``."""
    named = os.environ.get("SOTTO_PROGRAM")
    if named:
        return named
    command = "sotto.exe" if os.name == "nt" else "sotto"
    try:
        installed = importlib.metadata.files(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        installed = []
    found = [str(file.locate()) for file in installed if file.name == command]
    # With "pip install --target" the list of files is wrong about scripts.
    found.append(os.path.join(os.path.dirname(os.path.dirname(__file__)), "bin", command))
    for path in map(os.path.realpath, found):
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    # On Windows the working directory comes first, in which anybody may have put a program.
    path_of_command = shutil.which("sotto")
    if path_of_command and os.path.dirname(os.path.realpath(path_of_command)) != os.path.realpath(os.curdir):
        return os.path.abspath(path_of_command)
    raise errors.ProgramNotFound(f"there is no program sotto: install the wheel of {DISTRIBUTION} for this machine, or name a program in SOTTO_PROGRAM")


def flags(options: Mapping[str, Option]) -> list[str]:
    """Options as flags: ``epsilon=1`` is ``--epsilon=1``, a list repeats its flag, True is the flag alone."""
    made: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None:
            continue
        if isinstance(value, bool):
            made.append(flag if value else flag + "=false")
        elif isinstance(value, Mapping):
            made.extend(f"{flag}={key}={_text(item)}" for key, item in value.items())
        elif isinstance(value, (str, int, float, os.PathLike)):
            made.append(f"{flag}={_text(value)}")
        else:
            made.extend(f"{flag}={_text(item)}" for item in value)
    return made


def _text(value: str | int | float | os.PathLike[str]) -> str:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return repr(value) if isinstance(value, float) else str(value)


def run(
    program: str,
    arguments: Sequence[str],
    *,
    verb: str,
    environment: Mapping[str, str] | None = None,
    stdin: str | None = None,
    inherit: Sequence[int] = (),
    timeout: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> list[dict[str, Any]]:
    """Runs the program with ``--json`` and returns its objects; raises what its exit code says.

    Whatever ends this call, also Ctrl-C, ends the program first: it is interrupted, so that it
    leaves a run that can continue, and killed if that takes too long.
    """
    options: dict[str, Any] = {}
    if os.name == "nt":
        options["creationflags"] = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    else:
        # Ctrl-C comes to this process alone, which passes it on once.
        options["start_new_session"] = True
        options["pass_fds"] = tuple(inherit)
    try:
        child = subprocess.Popen(
            [program, *arguments, "--json"],
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            **options,
        )
    except OSError as e:
        raise errors.ProgramNotFound(f"{program} cannot be run: {e.strerror}") from None
    talk = _Talk(child, stdin)
    try:
        talk.listen(on_progress, None if timeout is None else time.monotonic() + timeout)
    except _Late:
        _end(child)
        talk.join()
        raise errors.TimedOut(f"sotto {verb} took longer than {timeout:g} s and was stopped; the same call continues with the run", verb=verb) from None
    except BaseException:
        _end(child)
        talk.join()
        raise
    code = child.wait()
    talk.join()
    found = _objects(b"".join(talk.output))
    last = found[-1] if found else {}
    if code == 0 and found:
        return found
    if code < 0:
        raise errors.Interrupted(f"sotto {verb} was stopped by signal {-code}; the same call continues with the run", code=1, verb=verb)
    message = last.get("error")
    if not isinstance(message, str):
        message = _failed_checks(last) or f"sotto {verb} ended with exit code {code} and no result; run it on the command line to see what it says"
    error = _error(code or 1, message, verb, last)
    error.said = talk.said.strip()
    if error.said and error.said != f"sotto: {message}" and sys.stderr is not None and sys.stderr.isatty():
        print(error.said, file=sys.stderr)
    raise error


#: The exception for an exit code.
_BY_CODE: dict[int, type[errors.SottoError]] = {2: errors.UsageError, 3: errors.BudgetRefused, 4: VerificationFailed}


def _error(code: int, message: str, verb: str, details: Mapping[str, Any]) -> errors.SottoError:
    kind = _BY_CODE.get(code, errors.SottoError)
    if kind is errors.SottoError:
        return errors.SottoError(message, code=code, verb=verb, details=details)
    return kind(message, verb=verb, details=details)


class _Late(Exception):
    """The time is over."""


class _Talk:
    """The pipes of a child: threads read them, and one writes its input."""

    def __init__(self, child: subprocess.Popen[bytes], stdin: str | None) -> None:
        self.output: list[bytes] = []
        #: What the program said to people.
        self.said = ""
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        assert child.stdout is not None and child.stderr is not None
        jobs: list[tuple[Callable[..., None], tuple[Any, ...]]] = [(self._read, (child.stdout,)), (self._follow, (child.stderr,))]
        if stdin is not None:
            assert child.stdin is not None
            jobs.append((self._write, (child.stdin, stdin.encode())))
        self._threads = [threading.Thread(target=job, args=args, daemon=True) for job, args in jobs]
        for thread in self._threads:
            thread.start()

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            while piece := pipe.read(1 << 16):
                self.output.append(piece)

    def _follow(self, pipe: IO[bytes]) -> None:
        try:
            with pipe:
                for line in pipe:
                    self._lines.put(line)
        finally:
            self._lines.put(None)

    @staticmethod
    def _write(pipe: IO[bytes], text: bytes) -> None:
        try:
            with pipe:
                pipe.write(text)
        except BrokenPipeError:
            pass  # the program ended without reading it, and says why

    def listen(self, on_progress: Callable[[Progress], None] | None, deadline: float | None) -> None:
        """Hands progress on, in the caller's thread, until there is no more."""
        while True:
            wait = 0.5 if deadline is None else min(0.5, deadline - time.monotonic())
            if wait <= 0:
                raise _Late
            try:
                line = self._lines.get(timeout=wait)
            except queue.Empty:
                continue
            if line is None:
                return
            event = _event(line)
            if event is None:
                self.said = (self.said + line.decode("utf-8", "replace"))[-_MOST_SAID:]
                continue
            if on_progress is not None:
                on_progress(event)
            elif event.message and sys.stderr is not None and sys.stderr.isatty():
                # As on the command line: for who sits there, and for no log.
                print(f"sotto: {event.message}", file=sys.stderr)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(timeout=GRACE)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Interrupts the program, and kills it if it does not end. A second Ctrl-C kills at once."""
    try:
        if child.poll() is None:
            child.send_signal(getattr(signal, "CTRL_BREAK_EVENT") if os.name == "nt" else signal.SIGINT)
            child.wait(timeout=GRACE)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        child.kill()
        child.wait()


def _event(line: bytes) -> Progress | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None  # words for people
    return Progress.read(found) if isinstance(found, dict) and "event" in found else None


def _objects(output: bytes) -> list[dict[str, Any]]:
    """The JSON objects of an output, one after the other."""
    text, decoder, at = output.decode("utf-8", "replace"), json.JSONDecoder(), 0
    found: list[dict[str, Any]] = []
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return found
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            return found
        if isinstance(value, dict):
            found.append(value)


def _failed_checks(result: Mapping[str, Any]) -> str:
    checks = result.get("checks")
    if not isinstance(checks, list):
        return ""
    failed = [f"{check.get('name')}: {check.get('detail')}" for check in checks if isinstance(check, dict) and not check.get("ok") and not check.get("warning")]
    return "; ".join(failed)
