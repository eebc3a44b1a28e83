# SPDX-License-Identifier: BSD-3-Clause
"""The system calls that Python 3.11 does not wrap: namespaces, mounts, death of the parent."""
import ctypes
import os
import signal

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
NAMESPACES = ("net", "uts", "ipc", "mnt", "pid")
_MS_REC, _MS_PRIVATE = 0x4000, 1 << 18
_PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def unshare(flags):
    _check(_libc.unshare(flags), f"unshare({flags:#x})")


def setns(fd, flags=0):
    _check(_libc.setns(fd, flags), "setns")


def mount(kind, target):
    _check(_libc.mount(kind.encode(), target.encode(), kind.encode(), 0, None), f"mount {kind} on {target}")


def make_mounts_private():
    _check(_libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "make mounts private")


def die_with_parent(parent):
    """This process is killed when the one that forked it, `parent`, ends; at once if it has ended already."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent and os.getppid() != 0:  # 0: the parent is outside this process namespace
        os._exit(1)


def enter(pid, namespaces):
    """Moves this process (of `pid`: its next children) into namespaces of process `pid`."""
    fds = [os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in namespaces]
    for fd in fds:
        setns(fd)
        os.close(fd)


def start_time(pid):
    """When a process started, in clock ticks since boot: with its number, a name that is never reused. None if gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else int(fields[19])
