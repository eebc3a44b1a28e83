# SPDX-License-Identifier: BSD-3-Clause
"""The first process of a node, which holds its namespaces, and processes that are started beside it."""
import os
import signal
import socket

from . import linux

_MODE = 0o1777


def _write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _private_views(number, name):
    """Shared memory, processes and interfaces as on a host of its own."""
    linux.make_mounts_private()
    linux.mount("tmpfs", "/dev/shm")
    os.chmod("/dev/shm", _MODE)
    linux.mount("proc", "/proc")
    linux.mount("sysfs", "/sys")
    socket.sethostname(name)
    for key in ("ip_forward", "conf/all/rp_filter", "conf/default/rp_filter"):
        _write(f"/proc/sys/net/ipv4/{key}", "1" if key == "ip_forward" else "0")
    # Equal small process numbers on all nodes look like one process to libraries that also compare boot ids.
    _write("/proc/sys/kernel/ns_last_pid", str(1000 * (number + 1) % 4_000_000))


def _reap_for_ever():
    while True:
        signal.sigwait({signal.SIGCHLD})
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            pass


def start(number, name, keeper):
    """Forks the first process of a node, which lives as long as this one, the keeper. Returns its number and a
    descriptor that reads "ok", or why not."""
    read, write = os.pipe()
    outer = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    linux.unshare(linux.CLONE_NEWPID)  # of the next child
    pid = os.fork()
    if pid != 0:
        linux.setns(outer)
        os.close(outer)
        os.close(write)
        return pid, read
    try:
        linux.die_with_parent(keeper)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        for number_of in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number_of, signal.SIG_IGN)
        os.setsid()
        linux.unshare(linux.CLONE_NEWNET | linux.CLONE_NEWUTS | linux.CLONE_NEWIPC | linux.CLONE_NEWNS)
        _private_views(number, name)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        os.write(write, b"ok")
        os.closerange(3, 256)
        _reap_for_ever()
    except BaseException as error:  # nothing may return into the caller's code
        os.write(write, str(error).encode())
    os._exit(1)


def _status(status):
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def _become(argv, environment, directory):
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(directory)
        os.execvpe(argv[0], argv, environment)
    except OSError as error:
        os.write(2, f"netlab: cannot run {argv[0]}: {error.strerror}\n".encode())
    os._exit(127)


def spawn(pid, argv, environment=None, fds=(0, 1, 2), directory=None):
    """Starts a program on the node that `pid` holds; returns a child of this process that stands for it: it hands
    signals on and ends with its exit code, 128 + n for signal n."""
    environment = dict(os.environ if environment is None else environment)
    directory = directory or os.getcwd()
    parent = os.getpid()
    proxy = os.fork()
    if proxy != 0:
        return proxy
    try:
        linux.die_with_parent(parent)
        for target, fd in enumerate([os.dup(fd) for fd in fds]):
            os.dup2(fd, target)
        os.closerange(3, 256)
        linux.enter(pid, linux.NAMESPACES)
        forwarded = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        signal.pthread_sigmask(signal.SIG_BLOCK, forwarded)
        inner = os.fork()  # only a child is in the node's process namespace
        if inner == 0:
            linux.die_with_parent(0)
            os.setpgid(0, 0)
            _become(argv, environment, directory)
        for number in forwarded:
            signal.signal(number, lambda number, _: os.kill(inner, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, forwarded)
        _, status = os.waitpid(inner, 0)
        os._exit(_status(status))
    except BaseException as error:
        os.write(2, f"netlab: {error}\n".encode())
    os._exit(126)


def wait(pid):
    """The exit code of a child that spawn() returned."""
    return _status(os.waitpid(pid, 0)[1])
