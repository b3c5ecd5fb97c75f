"""Files that are written into a folder of ours, and never through a link that somebody put there.

A run directory may come from anybody: unpacked from an archive, fetched, shared by several people. A name in it that is
a link must not make us write where the link points. So a file is made new under another name, which fails where that
name is taken, and is then renamed: renaming replaces a link and leaves what it points to alone. A folder that the user
names (`--out`) may be a link: that is the user's own choice.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

MANIFEST = "manifest.json"
"""What every run directory has."""
# Not everywhere: without it, looking before opening is all there is.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_TRIES = 5
_SQLITE_FILES = ("", "-journal", "-wal", "-shm")


class RunError(ValueError):
    """A run directory that cannot be used as asked; the message says what to do."""


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[BinaryIO]:
    """A new file under another name, open for writing; it takes the target's name once it is whole."""
    partial = target.with_name(f".{target.name}.partial")
    refuse_linked_folder(target)
    with new_file(partial) as stream:
        yield stream
    try:
        partial.replace(target)
    except OSError:
        if not _is_folder(target):
            raise
        raise _in_the_way(target) from None


def replace_file(target: Path, content: bytes) -> None:
    """Write a whole file of ours in place of what is there."""
    with replacing(target) as stream:
        stream.write(content)


def write_named(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write a file that the user named: as it is named, links followed, unless it lies in a run directory."""
    target = Path(path)
    if in_run(target):
        replace_file(target, content)
    else:
        target.write_bytes(content)
    return target


@contextlib.contextmanager
def named_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """As `write_named`, for what is written piece by piece."""
    target = Path(path)
    with replacing(target) if in_run(target) else target.open("wb") as stream:
        yield stream


def new_file(path: Path) -> BinaryIO:
    """Make a file and open it for writing; a leftover of that name, a link too, is removed first."""
    for _ in range(_TRIES):
        remove(path)
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _BINARY, 0o666)
            return os.fdopen(descriptor, "wb")
    raise RunError(f"{path} is made again and again by another process; run one at a time in this folder")


def append_to(path: Path) -> BinaryIO:
    """Open a file of ours, made before, to write at its end (or, after a seek, inside it)."""
    refuse_link(path)
    try:
        descriptor = os.open(path, os.O_RDWR | _NO_LINK | _BINARY)
    except OSError as error:
        raise RunError(f"{path} cannot be opened for writing ({error.strerror or error})") from None
    stream = os.fdopen(descriptor, "r+b")
    stream.seek(0, os.SEEK_END)
    return stream


def remove(path: Path) -> None:
    """Remove a file of ours, or the link in its place, if there is one."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        if not _is_folder(path):
            raise
        raise _in_the_way(path) from None


def refuse_link(path: Path) -> None:
    """Refuse what is no file of its own: a link, a file with a second name, a folder, a device."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise RunError(f"{path} is a link, and nothing is written through links in a run; remove it")
    if not stat.S_ISREG(found.st_mode):
        raise RunError(f"{path} is not a plain file; remove it")
    if found.st_nlink > 1:
        raise RunError(
            f"{path} has a second name elsewhere (a hard link), which would change too; remove it or copy it"
        )


def refuse_linked_folder(target: Path) -> None:
    """Refuse a folder inside a run that is a link."""
    if target.parent.is_symlink() and in_run(target.parent):
        raise RunError(f"{target.parent} is a link, and nothing is written through links in a run; remove it")


def refuse_linked_database(path: Path) -> None:
    """SQLite follows links, its own beside the file too: those in a run directory are refused before it opens one."""
    if in_run(path):
        refuse_linked_folder(path)
        for ending in _SQLITE_FILES:
            refuse_link(path.with_name(path.name + ending))


def in_run(path: Path) -> bool:
    """Whether a path lies in a run directory, or in a folder of one."""
    return any(os.path.lexists(folder / MANIFEST) for folder in list(path.parents)[:2])


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _in_the_way(path: Path) -> RunError:
    return RunError(f"{path} is a folder, where a file of the run belongs; remove it")
