"""The process in which model-written queries run.

A *nursery* process reads the store once and forks workers from it on demand: a worker that is killed is replaced
in milliseconds, and a graph in memory is shared, not copied. The nursery is started as a new program, so
neither it nor its workers inherit the caller's sockets, files or variables. It leaves the network (where the
system lets it), may write no file, and dies with its caller.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import resource
import signal
import socket
import sys
import time
from typing import Any

import orjson

from . import engines
from .limits import Limits
from .messages import LENGTH, receive, send
from .outcomes import Failure, Reason, encode_outcome, too_many_bytes
from .servers.engine import ServerEngine, number_noted

_CLONE_NEWNET = 0x40000000
_CLONE_NEWUSER = 0x10000000
_PR_SET_PDEATHSIG = 1
_MESSAGE_CHARACTERS = 500


# How a worker ends that had no memory left to say so.
OUT_OF_MEMORY_STATUS = 12


def leave_network() -> str:
    """Go where no network is; why that cannot be, or "". Ordinary users may do so only before they start threads."""
    # A network namespace of its own has no interface that is up.
    flags = _CLONE_NEWNET if os.geteuid() == 0 else _CLONE_NEWNET | _CLONE_NEWUSER
    try:
        refused = ctypes.CDLL(None, use_errno=True).unshare(flags) != 0
    except (OSError, AttributeError):
        return "this system has no network namespaces"
    return os.strerror(ctypes.get_errno()) if refused else ""


def set_limit(kind: int, most: int) -> str:
    """Bound what this process may take; why that cannot be, or ""."""
    try:
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(kind, (most, most))
    except (ValueError, OSError) as error:
        return getattr(error, "strerror", None) or str(error)
    return ""


def cap_memory(most: int) -> str:
    """Bound the address space of this process; why that cannot be, or ""."""
    if sys.platform == "darwin":
        return "macOS does not enforce one"
    return set_limit(resource.RLIMIT_AS, most)


def _restrict_process() -> list[str]:
    """No files written, no core dumps. What could not be had, in words."""
    set_limit(resource.RLIMIT_CORE, 0)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    refused = set_limit(resource.RLIMIT_FSIZE, 0)
    if not refused:
        return []
    return [f"no bar on writing files ({refused}): stores are still opened read-only, and only reading queries run"]


def _work(channel: socket.socket, engine: engines.Engine, limits: Limits) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    opening_error = ""
    try:
        engine.start()
    except Exception as error:
        opening_error = f"the store could not be opened: {error}"
    bytes_at_start = engines.address_space()
    refused = cap_memory(bytes_at_start + limits.memory)
    unset = [f"no cap on memory ({refused}): time and the size of answers are still bounded"] if refused else []
    send(channel, {"ready": True, "not_set": unset, "resident": engines.resident()})
    while (request := receive(channel)) is not None:
        started = time.perf_counter()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        cpu_seconds = int(usage.ru_utime + usage.ru_stime + limits.seconds) + 2
        with contextlib.suppress(ValueError, OSError):  # the pool has its own clock
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        database = request["database"]
        if opening_error:
            send(channel, _without_paths(encode_outcome(Failure(Reason.ENGINE_ERROR, opening_error)), engine, database))
            continue
        try:
            answer = engine.answer if not request.get("timed") else engine.timed
            reply = _without_paths(answer(request["text"], database), engine, database)
            reply["seconds"] = reply.pop("took", None) or time.perf_counter() - started
            # What an allocator keeps to itself is missing from the next query's share.
            taken = engines.address_space() - bytes_at_start
            reply["retire"] = reply.get("retire", False) or taken > limits.memory * 3 // 4
            body = orjson.dumps(reply)
            if len(body) > limits.message_bytes:
                body = orjson.dumps({**encode_outcome(too_many_bytes(limits)), "retire": True})
        except MemoryError:
            reply = encode_outcome(Failure(Reason.MEMORY, "more memory than the limit allows"))
            body = orjson.dumps(reply)
        except Exception as error:
            # A worker that meets an error nobody foresaw says so and goes on.
            no_memory = isinstance(error, OSError) and error.errno == errno.ENOMEM
            reason = Reason.MEMORY if no_memory else Reason.ENGINE_ERROR
            reply = encode_outcome(Failure(reason, f"{type(error).__name__}: {error}"))
            body = orjson.dumps(_without_paths(reply, engine, database))
        channel.sendall(LENGTH.pack(len(body)) + body)


def _without_paths(reply: dict[str, Any], engine: engines.Engine, database: str) -> dict[str, Any]:
    """A reply whose message says nothing of where the store or this program lies."""
    message = reply.get("message")
    if message is not None:
        for folder in sorted({*engine.places(database), *sys.path}, key=len, reverse=True):
            if len(folder) > 1:
                message = message.replace(f"{folder}{os.sep}", "").replace(folder, "…")
        reply["message"] = message[:_MESSAGE_CHARACTERS].encode("utf-8", "replace").decode()
    return reply


def _leave_network() -> list[str]:
    """Before a store is read, which may start threads."""
    refused = leave_network()
    return [f"no network namespace ({refused}): whatever would connect is still refused"] if refused else []


def _nursery(control: socket.socket) -> None:
    config = receive(control)
    limits = Limits(**config["limits"])
    try:
        engine = engines.make(config)
        unset = [] if isinstance(engine, ServerEngine) else _leave_network()
        facts = engine.load()
    except Exception as error:
        send(control, {"error": str(error) or type(error).__name__, "kind": type(error).__name__})
        return
    if not isinstance(engine, ServerEngine) or not engine.writes_files:
        unset += _restrict_process()
    send(control, {"ready": facts, "not_set": unset})
    children: dict[int, mmap.mmap | None] = {}
    try:
        while True:
            command, descriptors, _, _ = socket.recv_fds(control, 32, 1)
            if not command:
                return
            verb, _, pid_text = command.decode().strip().partition(" ")
            if verb == "fork":
                at_work = None
                if isinstance(engine, ServerEngine):
                    at_work = engine.at_work = mmap.mmap(-1, mmap.PAGESIZE)
                pid = os.fork()
                if pid == 0:
                    control.close()
                    exit_code = 1
                    try:
                        with socket.socket(fileno=descriptors[0]) as channel:
                            _work(channel, engine, limits)
                        exit_code = 0
                    except MemoryError:
                        exit_code = OUT_OF_MEMORY_STATUS
                    except OSError as error:
                        exit_code = OUT_OF_MEMORY_STATUS if error.errno == errno.ENOMEM else 1
                    finally:
                        # Never unwind into the nursery's own loop.
                        os._exit(exit_code)
                children[pid] = at_work
                os.close(descriptors[0])
                send(control, {"pid": pid})
            elif verb == "end":
                pid = int(pid_text)
                final_status, most_resident = 0, 0
                if pid in children:
                    # A worker that has closed its end is gone or about to be: it is given a moment to say how.
                    final_status, most_resident = _wait_briefly(pid)
                    _abandon(engine, children.pop(pid))
                send(control, {"status": os.waitstatus_to_exitcode(final_status), "resident": most_resident})
            elif verb == "kill":
                pid = int(pid_text)
                if pid in children:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    _abandon(engine, children.pop(pid))
                send(control, {"status": -int(signal.SIGKILL)})
    finally:
        for pid, at_work in children.items():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            _abandon(engine, at_work)


_ABANDON_SECONDS = 10


def _abandon(engine: engines.Engine, at_work: mmap.mmap | None) -> None:
    """Let a server end what a worker that is gone had asked of it; nobody waits for that."""
    number = 0 if at_work is None else number_noted(at_work)
    if not number or not isinstance(engine, ServerEngine):
        return
    if child := os.fork():
        os.waitpid(child, 0)
        return
    # A grandchild, which nobody has to wait for; it ends by itself whatever the server does.
    with contextlib.suppress(BaseException):
        if os.fork() == 0:
            signal.alarm(_ABANDON_SECONDS)
            engine.cancel(number)
    os._exit(0)


def _wait_briefly(pid: int) -> tuple[int, int]:
    """How a process ended, and the most bytes that it ever held in memory."""
    for _ in range(100):
        ended_pid, status, usage = os.wait4(pid, os.WNOHANG)
        if ended_pid:
            break
        time.sleep(0.005)
    else:
        os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
    return status, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main(descriptor: int) -> None:
    sys.setrecursionlimit(3_000)
    control = socket.socket(fileno=descriptor)
    with contextlib.suppress(ConnectionError):
        _nursery(control)
