# SPDX-License-Identifier: BSD-3-Clause
"""Ports for jobs that are told where to meet."""
import random
import socket


def free_port():
    """A port that nobody listens at, outside the range from which the system takes ports of its own accord:
    one of those may be gone before the job gets to it."""
    for _ in range(1000):
        port = random.randint(10000, 30000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise OSError("no free port between 10000 and 30000")
