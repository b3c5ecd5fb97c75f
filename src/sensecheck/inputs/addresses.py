"""Inputs at addresses of object stores (`s3://`, `gs://`, `hf://` …): fetched, and from then on files like others.

fsspec and a package for each kind of store do the talking; they find keys and endpoints in the environment, as they
always do, and none of that passes through here. What is named is fetched whole into a folder of this process, in which
it lies as it lies in the store, so that patterns, files beside files and reading at random all work. Whoever is told of
such a file is told its address.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason
from sensecheck.network.address import holds_secrets, public_text

PACKAGES = {
    "s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "hf": "huggingface_hub", "az": "adlfs",
    "abfs": "adlfs", "abfss": "adlfs", "memory": "",
}  # fmt: skip
"""Kinds of addresses, and the package beside fsspec that knows them."""
OF_THIS_PROCESS = "memory"
_EXTRA = {"s3fs", "gcsfs", "huggingface_hub", ""}
_KIND = re.compile(r"([a-z][a-z0-9]*)://")
_FILE = ("file", "local")
_FOLDER = "sensecheck-fetched-"
_MOST_FILES = 10_000
"""A folder of more is not fetched."""
_UNSAFE = frozenset(("", ".", ".."))
_SECONDS_UNLOCKED = 60
"""A folder that is younger may be one whose process is about to lock it."""
_MOST_WORDS = 200


def kind_of(place: object) -> str:
    """The kind of store that a text is an address of, or an empty text.

    >>> kind_of("s3://bucket/rows.csv"), kind_of("rows.csv"), kind_of("http://host/rows.csv")
    ('s3', '', '')
    """
    found = _KIND.match(place) if isinstance(place, str) else None
    return found[1] if found is not None and found[1] in PACKAGES else ""


def is_address(place: object) -> bool:
    return bool(kind_of(place))


def are_addresses(value: object) -> bool:
    """Whether a place, or one of several, is written as an address, also one of this machine (`file://`)."""
    if isinstance(value, list | tuple):
        return any(are_addresses(one) for one in value if isinstance(one, str))
    found = _KIND.match(value) if isinstance(value, str) else None
    return found is not None and (found[1] in PACKAGES or found[1] in _FILE)


def plain(place: Any) -> Any:
    """A place on this machine as a path, where it is written as an address: `file:///data/rows.csv`."""
    found = _KIND.match(place) if isinstance(place, str) else None
    if found is None or found[1] not in _FILE:
        return place
    path = place[found.end() :]
    if not path.startswith("/"):
        raise InputError(
            path=place, expected="a full path after file://", got=f"'{path}'", hint="Write file:///folder/file.",
            reason=Reason.BAD_OPTION,
        )  # fmt: skip
    return path


# ---- where a fetched file came from

_address_by_path: dict[str, str] = {}


def name_of(path: str | os.PathLike[str]) -> str:
    """What a file is called before others: the address that it was fetched from, if it was."""
    text = os.fspath(path)
    return _address_by_path.get(text, text)


def told(text: str) -> str:
    """The text with addresses in the place of what was fetched from them."""
    for path in sorted(_address_by_path, key=len, reverse=True):
        if path in text:
            text = text.replace(path, _address_by_path[path])
    return text


@contextlib.contextmanager
def faults_told() -> Iterator[None]:
    """What fails over a fetched file is told with its address."""
    try:
        yield
    except (ValueError, OSError) as error:
        if _address_by_path:
            _retell(error)
        raise


@contextlib.contextmanager
def renamed(address_by_path: Mapping[str, str]) -> Iterator[None]:
    """For a while, places of this machine are told as addresses."""
    _address_by_path.update(address_by_path)
    try:
        yield
    finally:
        for path in address_by_path:
            _address_by_path.pop(path, None)


def _retell(error: Exception) -> None:
    error.args = tuple(told(part) if isinstance(part, str) else part for part in error.args)
    if isinstance(error, InputError):
        for part in ("problem", "path", "expected", "got", "hint"):
            words = getattr(error, part)
            setattr(error, part, told(words) if isinstance(words, str) else words)


def digest(path: Path) -> str | None:
    """What a fetched file holds, in short: what says that it is the same when it is fetched again."""
    if os.fspath(path) not in _address_by_path:
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---- reaching a store


def system_of(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    kind = kind_of(address)
    if holds_secrets(address):
        raise InputError(
            "holds a password or key; keys of stores come from the environment", path=public_text(address),
            hint="Set what its package reads, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
            reason=Reason.BAD_OPTION,
        )  # fmt: skip
    with store_faults(address):
        return _system(kind), address.partition("://")[2].rstrip("/")


@cache
def _system(kind: str) -> Any:
    try:
        import fsspec

        return fsspec.filesystem(kind)
    except ImportError:
        package = PACKAGES[kind]
        install = "'sensecheck[remote]'" if package in _EXTRA else package
        raise ImportError(f"{kind}:// addresses need {package or 'fsspec'}: pip install {install}") from None


@contextlib.contextmanager
def store_faults(address: str, doing: str = "read") -> Iterator[None]:
    """What a store's package says of an address becomes one message."""
    try:
        yield
    except (InputError, ImportError, KeyboardInterrupt):
        raise
    except Exception as error:
        problem, hint, reason = _explained(error, address, doing)
        raise InputError(problem, path=address, hint=hint, reason=reason) from None


def _explained(error: Exception, address: str, doing: str) -> tuple[str, str, Reason]:
    """By the names of what is raised: nothing of any package need be here."""
    kinds = " ".join(kind.__name__ for kind in type(error).__mro__)
    said = public_text(" ".join(str(error).split()))[:_MOST_WORDS]
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "could not be fetched: the disk is full", "Name another folder with TMPDIR.", Reason.UNREADABLE
    if "Credential" in kinds or "NoAuth" in kinds or "401" in said:
        return (
            "no credentials were found, or they were refused",
            "Set those of its store in the environment (for S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
            "AWS_PROFILE; FSSPEC_S3_ANON=true where none are needed).",
            Reason.PERMISSION,
        )
    if isinstance(error, PermissionError) or "Forbidden" in kinds or "403" in said:
        return "access denied", "Check what these credentials may do there.", Reason.PERMISSION
    if isinstance(error, FileNotFoundError):
        store = f"{kind_of(address)}://{address.partition('://')[2].split('/')[0]}"
        if is_of_store(error) or address.rstrip("/") == store:
            return f"there is no {store}", "Check the name, and whose credentials are set.", Reason.NOT_FOUND
        return "no such file", "Check the address.", Reason.NOT_FOUND
    if any(
        word in kinds for word in ("Connect", "Timeout", "Endpoint", "ClientError", "ServerDisconnected", "gaierror")
    ):
        return f"its store cannot be reached ({said})", "Check the network and the endpoint.", Reason.UNREADABLE
    return f"could not be {doing} ({type(error).__name__}: {said})", "Check the address.", Reason.UNREADABLE


def is_of_store(error: FileNotFoundError) -> bool:
    """Whether it is the store (its bucket) that is not there."""
    return "NoSuchBucket" in type(error.__cause__).__name__ or "bucket does not exist" in str(error)


def refuse_of_this_process(call: Mapping[str, Any]) -> None:
    """Refuse what no other process can see."""
    for name, value in call.items():
        for place in _texts(value):
            if kind_of(place) == OF_THIS_PROCESS:
                raise InputError(
                    f"{place} lies in the memory of one process, and parts are measured by others", field=name,
                    hint="Keep it in a file or in a store.", reason=Reason.BAD_OPTION,
                )  # fmt: skip


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


def version(address: str) -> list[list[str]]:
    """What lies at an address, in short: it changes when something there does. Nothing is fetched."""
    system, path = system_of(address)
    with store_faults(address):
        found = _found(system, path, address)
        return sorted([name, *(str(info.get(k, "")) for k in _VERSION)] for name, info in found.items())


_VERSION = ("size", "ETag", "etag", "blob_id", "LastModified", "updated", "mtime", "created")


# ---- fetching


class Fetching:
    """A folder of this process for what is fetched; it goes with the process, or when it is closed."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._lock: int | None = None
        self._aside = 0
        self._paths: list[str] = []

    def __call__(self, place: Any) -> Any:
        """A place, or several, as files here: addresses are fetched, all else stays as it is."""
        if isinstance(place, list | tuple) and are_addresses(place):
            several: list[Any] = []
            for one in place:
                found = self(one)
                several += found if isinstance(found, list) else [found]
            return several
        place = plain(place)
        return self.fetched(place) if is_address(place) else place

    def fetched(self, address: str) -> str | list[str]:
        """The path of what lies at an address, or the pattern, once all that it matches is here."""
        system, path = system_of(address)
        with store_faults(address):
            system.invalidate_cache()
            found = _found(system, path, address)
            if not found:
                raise FileNotFoundError(path)
            size = sum(info["size"] for info in found.values() if isinstance(info.get("size"), int))
            folder = self._opened()
            if size > shutil.disk_usage(folder).free:
                raise InputError(
                    f"takes {size:,} bytes, and {folder.parent} has room for {shutil.disk_usage(folder).free:,}",
                    path=address, hint="Name another folder with TMPDIR, or fetch it.", reason=Reason.UNREADABLE,
                )  # fmt: skip
            kind = kind_of(address)
            targets = {name: self._target(kind, name) for name in found}
            system.get(list(targets), [str(target) for target in targets.values()])
            for name, target in targets.items():
                info = found[name]
                if not target.is_file() or info.get("size") not in (None, target.stat().st_size):
                    raise OSError(f"{kind}://{name} did not come whole")
                self._known(target, f"{kind}://{name.lstrip('/')}")
        mirrored = self._mirrored(kind, path)
        aside = any(target != self._mirrored(kind, name) for name, target in targets.items())
        if mirrored is None or aside:
            if not glob.has_magic(path) and list(targets) != [path]:
                raise InputError(
                    "holds names that no folder of this machine can hold", path=address,
                    hint="Name files in it, or a pattern.", reason=Reason.DIRECTORY,
                )  # fmt: skip
            return sorted(map(str, targets.values()))
        self._known(mirrored, address)
        return str(mirrored)

    def _known(self, path: Path, address: str) -> None:
        _address_by_path[str(path)] = address
        self._paths.append(str(path))

    def _target(self, kind: str, name: str) -> Path:
        place = self._mirrored(kind, name)
        if place is not None:
            with contextlib.suppress(FileExistsError, NotADirectoryError):  # a file where others have a folder
                place.parent.mkdir(parents=True, exist_ok=True)
                if not place.is_dir():
                    return place
        self._aside += 1
        place = self._opened() / "aside" / str(self._aside)
        place.mkdir(parents=True)
        last = name.rpartition("/")[2]
        return place / (last if last not in _UNSAFE and "\0" not in last else "file")

    def _mirrored(self, kind: str, name: str) -> Path | None:
        """Where it lies as in its store, if a path can say that."""
        parts = name.strip("/").split("/")
        if any(part in _UNSAFE or "\0" in part or len(os.fsencode(part)) > 255 for part in parts):
            return None
        return self._opened().joinpath(kind, *parts)

    def _opened(self) -> Path:
        if self._folder is None:
            _sweep()
            self._folder = Path(tempfile.mkdtemp(prefix=_FOLDER))
            self._lock = locked(self._folder)
        return self._folder

    def close(self) -> None:
        for path in self._paths:
            _address_by_path.pop(path, None)
        self._paths = []
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Fetching:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _found(system: Any, path: str, address: str) -> dict[str, dict[str, Any]]:
    """The files that an address means, with what is known of each: one, those of a folder, or those of a pattern."""
    try:
        info = system.info(path)
    except FileNotFoundError:
        if not glob.has_magic(path):
            raise
        matches = system.glob(path, detail=True)
        found = {name: info for name, info in matches.items() if info.get("type") == "file"}
        if not found:
            with contextlib.suppress(FileNotFoundError):
                system.info(path.split("/")[0])
                raise InputError("no file matches this pattern", path=address, reason=Reason.NO_MATCH) from None
            raise FileNotFoundError("the bucket does not exist") from None
        return found
    if info.get("type") != "directory":
        return {path: info}
    found = {name: info for name, info in system.find(path, detail=True).items() if not name.endswith("/")}
    if len(found) > _MOST_FILES:
        raise InputError(
            f"is a folder of {len(found):,} files, and no more than {_MOST_FILES:,} are fetched", path=address,
            hint="Name files in it, or a pattern.", reason=Reason.DIRECTORY,
        )  # fmt: skip
    return found


def locked(place: Path, *, make: bool = False) -> int | None:
    """A lock on a folder or file that ends with this process, however it ends; None where another process has it."""
    while True:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT if make else os.O_RDONLY, 0o600)
        try:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # there is no such lock on Windows
            return descriptor
        except OSError:
            os.close(descriptor)
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), place.stat()):
                return descriptor
        os.close(descriptor)  # who had it has removed the file meanwhile


def _sweep() -> None:
    """Remove what killed processes fetched."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        with contextlib.suppress(OSError):
            found = folder.lstat()
            own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
            if not own or not stat.S_ISDIR(found.st_mode) or time.time() - found.st_mtime < _SECONDS_UNLOCKED:
                continue
            descriptor = locked(folder)
            if descriptor is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(descriptor)
