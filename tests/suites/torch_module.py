# SPDX-License-Identifier: BSD-3-Clause
"""Runs tests of torch.testing._internal.distributed.distributed_test, one after the other, with one backend.

usage: torch_module.py BACKEND PATTERN       (an interpreter that has torch; PATTERN: a regular expression)
Prints "result<TAB>test<TAB>passed|skipped|failed<TAB>why" of each. Where the module says "gloo", BACKEND is meant, so
that conditions about Gloo hold for it. Processes are forked, as importing torch takes longer than most tests.
"""
import importlib.util
import os
import re
import signal
import sys
import types
import unittest

NAME = "torch.testing._internal.distributed.distributed_test"
# What a processor of a test machine is worth.
RANKS, SECONDS = "3", "60"


def load(backend):
    """The module, with BACKEND where it says "gloo"."""
    spec = importlib.util.find_spec(NAME)
    with open(spec.origin, encoding="utf-8") as file:
        text = file.read()
    if backend != "gloo":
        text = text.replace('"gloo"', f'"{backend}"').replace("Backend.GLOO", f"Backend.{backend.upper()}")
        text = text.replace("dist.is_gloo_available()", "True")
    module = types.ModuleType(NAME)
    module.__file__ = spec.origin
    sys.modules[NAME] = module
    exec(compile(text, spec.origin, "exec"), module.__dict__)  # pylint: disable=exec-used
    return module


class Results(unittest.TestResult):
    def _tell(self, test, outcome, why=""):
        why = " ".join(why.split())
        print(f"result\t{test.id().rsplit('.', 1)[-1]}\t{outcome}\t{why[-1500:]}", flush=True)

    def addSuccess(self, test):
        self._tell(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._tell(test, "skipped", reason)

    def addError(self, test, err):
        super().addError(test, err)
        self._tell(test, "failed", self.errors[-1][1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._tell(test, "failed", self.failures[-1][1])


def main():
    backend, pattern = sys.argv[1:]
    os.environ.update(BACKEND=backend, WORLD_SIZE=RANKS, DISTRIBUTED_TESTS_DEFAULT_TIMEOUT=SECONDS)
    import torch
    from torch.testing._internal import common_distributed as common
    torch.set_num_threads(1)
    if backend != "gloo":
        __import__(f"{backend}_torch")
        for feature in common.DistTestCases.backend_feature.values():
            if "gloo" in feature:
                feature.add(backend)
    common.TIMEOUT_OVERRIDE.clear()
    module = load(backend)

    class Test(module.TestDistBackend, module.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

        def tearDown(self):
            processes = self.processes
            super().tearDown()
            for process in processes:
                process.join(5)
                if process.is_alive():
                    os.kill(process.pid, signal.SIGKILL)

    names = [name for name in unittest.TestLoader().getTestCaseNames(Test) if re.search(pattern, name)]
    results = Results()
    for name in names:
        print(f"begins\t{name}", flush=True)
        Test(name).run(results)


if __name__ == "__main__":
    main()
