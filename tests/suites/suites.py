# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts of this folder share: a public suite's programs with and without the preloaded library."""
import os
import shutil
import signal
import subprocess
import sys

# Ranks of a program at most, however many its suite asks for: a test machine has two cores.
MOST_RANKS = int(os.environ.get("MULTITREE_SUITE_RANKS", "4"))
# Seconds for a program.
LIMIT = int(os.environ.get("MULTITREE_SUITE_LIMIT", "90"))


def source_of(variable, what):
    """The checkout that the variable names; without one the script ends, and says why."""
    folder = os.environ.get(variable)
    if not folder:
        print(f"skipped: {variable} names no checkout of {what}")
        sys.exit(0)
    if not os.path.isdir(folder):
        sys.exit(f"{variable}: expected a folder with {what}, found {folder}")
    return os.path.abspath(folder)


def need(program):
    if not shutil.which(program):
        print(f"skipped: {program} is not installed")
        sys.exit(0)


class Outcome:
    """How a program ended: `passed`, and why not; `served` as the library's log has it."""

    def __init__(self, passed, words, log=""):
        self.passed, self.words, self.log = passed, words, log

    def served(self):
        lines = [line.split(":") for line in self.log.splitlines() if " served, " in line]
        return sum(int(line[3].split()[0]) for line in lines)


def launch(mpirun, ranks, command, library, judge, environment=None, folder=None, least="0"):
    """Runs `command` with `ranks` ranks; `judge(code, output)` says why it failed, or nothing. Without `mpirun` the
    process is one."""
    preload = [f"LD_PRELOAD={library}", "MULTITREE_MPI_LOG=1"] if library else []
    if library and least:
        preload.append(f"MULTITREE_MPI_MIN_BYTES={least}")
    variables = [f"{name}={value}" for name, value in (environment or {}).items()]
    options = []
    if "openmpi" in os.path.basename(mpirun):
        options = ["--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
    launcher = [mpirun, *options, "-n", str(ranks)] if mpirun else []
    line = [*launcher, "env", *variables, *preload, *command]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               cwd=folder, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            output, _ = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        return Outcome(False, f"not over after {LIMIT} s", output)
    why_not = judge(process.returncode, output)
    return Outcome(not why_not, why_not or "", output)


def compare(name, rows):
    """Prints `rows` of (program, without, with) and ends with 1 if any differs."""
    worse = [row for row in rows if row[1].passed != row[2].passed]
    for program, plain, ours in worse:
        print(f"{name}: {program}: without the library {'passed' if plain.passed else plain.words}, "
              f"with it {'passed' if ours.passed else ours.words}\n{(ours if plain.passed else plain).log[-1500:]}")
    print(f"{name}: {len(rows)} programs, without the library {sum(row[1].passed for row in rows)} passed, "
          f"with it {sum(row[2].passed for row in rows)} passed, {sum(row[2].served() for row in rows)} calls served "
          f"at rank 0, {len(worse)} differ")
    for program, plain, _ in rows:
        if not plain.passed:
            print(f"{name}: {program}: fails without the library too: {plain.words}")
    return 1 if worse else 0
