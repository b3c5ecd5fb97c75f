"""The process in which model-written queries run.

A *nursery* process reads the store once and forks workers from it on demand: a worker that is killed is replaced
in milliseconds, and a graph in memory is shared, not copied. The nursery is started as a new program, so
neither it nor its workers inherit the caller's sockets, files or variables. It leaves the network (where the
system lets it), may write no file, and dies with its caller.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import socket
import sys
import time

import orjson

from . import engines
from .limits import Limits
from .messages import LENGTH, receive, send
from .outcomes import Failure, Reason, encode_outcome

_CLONE_NEWNET = 0x40000000
_CLONE_NEWUSER = 0x10000000
_PR_SET_PDEATHSIG = 1


def _restrict_process() -> None:
    """No network, no files written, no core dumps, nothing on the standard streams."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with contextlib.suppress(OSError, AttributeError):
        # A network namespace of its own has no interface that is up. Without the right to make one, the
        # gate that refuses SERVICE and file functions is still there.
        flags = _CLONE_NEWNET if os.geteuid() == 0 else _CLONE_NEWNET | _CLONE_NEWUSER
        ctypes.CDLL(None, use_errno=True).unshare(flags)


def _work(channel: socket.socket, engine: engines.Engine, limits: Limits) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    opening_error = ""
    try:
        engine.start()
    except Exception as error:
        opening_error = f"the store could not be opened: {error}"
    bytes_at_start = engines.address_space()
    most_bytes = bytes_at_start + limits.memory
    send(channel, {"ready": True})
    with contextlib.suppress(ValueError, OSError):  # not every system bounds the address space
        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    while (request := receive(channel)) is not None:
        started = time.perf_counter()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        cpu_seconds = int(usage.ru_utime + usage.ru_stime + limits.seconds) + 2
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, resource.RLIM_INFINITY))
        if opening_error:
            send(channel, encode_outcome(Failure(Reason.ENGINE_ERROR, opening_error)))
            continue
        try:
            reply = engine.answer(request["text"], request["database"])
            reply["seconds"] = time.perf_counter() - started
            # What an allocator keeps to itself is missing from the next query's share.
            reply["retire"] = engines.address_space() - bytes_at_start > limits.memory * 3 // 4
            body = orjson.dumps(reply)
        except MemoryError:
            reply = encode_outcome(Failure(Reason.MEMORY, "more memory than the limit allows"))
            body = orjson.dumps(reply)
        except Exception as error:
            # A worker that meets an error nobody foresaw says so and goes on.
            reply = encode_outcome(Failure(Reason.ENGINE_ERROR, f"{type(error).__name__}: {error}"[:500]))
            body = orjson.dumps(reply)
        channel.sendall(LENGTH.pack(len(body)) + body)


def _nursery(control: socket.socket) -> None:
    config = receive(control)
    limits = Limits(**config["limits"])
    try:
        engine = engines.make(config)
        facts = engine.load()
    except Exception as error:
        send(control, {"error": str(error) or type(error).__name__, "kind": type(error).__name__})
        return
    _restrict_process()
    send(control, {"ready": facts})
    children: set[int] = set()
    try:
        while True:
            command, descriptors, _, _ = socket.recv_fds(control, 32, 1)
            if not command:
                return
            verb, _, pid_text = command.decode().strip().partition(" ")
            if verb == "fork":
                pid = os.fork()
                if pid == 0:
                    control.close()
                    exit_code = 1
                    try:
                        with socket.socket(fileno=descriptors[0]) as channel:
                            _work(channel, engine, limits)
                        exit_code = 0
                    finally:
                        # Never unwind into the nursery's own loop.
                        os._exit(exit_code)
                children.add(pid)
                os.close(descriptors[0])
                send(control, {"pid": pid})
            elif verb == "end":
                pid = int(pid_text)
                final_status = 0
                if pid in children:
                    # A worker that has closed its end is gone or about to be: it is given a moment to say how.
                    wait_status = _wait_briefly(pid)
                    if wait_status is None:
                        os.kill(pid, signal.SIGKILL)
                        wait_status = os.waitpid(pid, 0)[1]
                    final_status = wait_status
                    children.discard(pid)
                send(control, {"status": os.waitstatus_to_exitcode(final_status)})
            elif verb == "kill":
                pid = int(pid_text)
                if pid in children:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    children.discard(pid)
                send(control, {"status": -int(signal.SIGKILL)})
    finally:
        for pid in children:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _wait_briefly(pid: int) -> int | None:
    for _ in range(100):
        ended_pid, status = os.waitpid(pid, os.WNOHANG)
        if ended_pid:
            return status
        time.sleep(0.005)
    return None


def main(descriptor: int) -> None:
    sys.setrecursionlimit(3_000)
    control = socket.socket(fileno=descriptor)
    with contextlib.suppress(ConnectionError):
        _nursery(control)
