# SPDX-License-Identifier: BSD-3-Clause
"""Several ranks where a launcher starts one: rank r of n becomes COUNT of COUNT * n, from COUNT * r on.

usage: several.py COUNT COMMAND...
"""
import os
import subprocess
import sys

count, command = int(sys.argv[1]), sys.argv[2:]
rank, size = int(os.environ["MULTITREE_RANK"]), int(os.environ["MULTITREE_SIZE"])
processes = [subprocess.Popen(command, env=dict(os.environ, MULTITREE_RANK=str(count * rank + i), MULTITREE_SIZE=str(count * size)))
             for i in range(count)]
sys.exit(max(process.wait() for process in processes))
