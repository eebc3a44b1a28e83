# SPDX-License-Identifier: BSD-3-Clause
"""A job whose lines are read, with the time of each, while it runs."""
import os
import re
import signal
import subprocess
import threading
import time


class Job:
    def __init__(self, command, env):
        self.lines, self.locked = [], threading.Condition()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        stdin=subprocess.DEVNULL, env=env)
        self.readers = [threading.Thread(target=self._read, args=(pipe,), daemon=True)
                        for pipe in (self.process.stdout, self.process.stderr)]
        for reader in self.readers:
            reader.start()

    def _read(self, pipe):
        for line in pipe:
            with self.locked:
                self.lines.append((time.monotonic(), line))
                self.locked.notify_all()

    def await_line(self, pattern, patience):
        """True once a line fits; false if the job ends or time is up before."""
        until = time.monotonic() + patience
        with self.locked:
            while not any(re.search(pattern, line) for _, line in self.lines):
                if self.process.poll() is not None or time.monotonic() > until:
                    return False
                self.locked.wait(0.05)
        return True

    def end(self, patience):
        """Its exit code; None if it had to be killed."""
        try:
            self.process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            return None
        for reader in self.readers:
            reader.join(timeout=10)
        return self.process.returncode

    @property
    def text(self):
        with self.locked:
            return "".join(line for _, line in self.lines)


def variables_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as environ:
            return dict(entry.split("=", 1) for entry in environ.read().decode(errors="replace").split("\0")
                        if "=" in entry)
    except OSError:
        return {}


def ranks_where(name, value):
    """Processes by rank, of all whose variable `name` is `value`; those of lowest number, which were there first."""
    found = {}
    for pid in sorted(int(entry) for entry in os.listdir("/proc") if entry.isdigit()):
        variables = variables_of(pid)
        if variables.get(name) == value and "MULTITREE_RANK" in variables:
            found.setdefault(int(variables["MULTITREE_RANK"]), pid)
    return found
