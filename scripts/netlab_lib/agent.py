# SPDX-License-Identifier: BSD-3-Clause
"""A program on one node starts one on another: `netlab rsh NODE COMMAND...`, for mpirun's plm_rsh_agent.

A node cannot enter another, so it asks the keeper, through a socket in the file system, which both see.
"""
import json
import os
import socket

from . import LabError, node

_SOCKET = "agent.sock"
_LIMIT = 1 << 20


def listen(folder):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(folder, _SOCKET))
    listener.listen(64)
    return listener


def _receive(connection):
    data, fds, _, _ = socket.recv_fds(connection, 4096, 3)
    size = int.from_bytes(data[:4], "big")
    while len(data) < 4 + size:
        more = connection.recv(1 << 16)
        if not more:
            raise LabError("incomplete request")
        data += more
    return json.loads(data[4:]), fds


def serve(lab, listener):
    """Takes one request and runs it in a child of its own."""
    connection, _ = listener.accept()
    with connection:
        if os.fork() != 0:
            return
        code = 1
        try:
            connection.settimeout(10)
            request, fds = _receive(connection)
            connection.settimeout(None)
            pid = lab.pids[lab.index_of(request["node"])]
            child = node.spawn(pid, request["argv"], request["environment"], fds, request["directory"])
            code = node.wait(child)
        except (LabError, OSError, ValueError) as error:
            connection.sendall(f"netlab: {error}".encode())
        else:
            connection.sendall(str(code).encode())
        finally:
            os._exit(0)


def ask(folder, name, argv):
    """Runs a program on node `name` with this process's input, output, folder and variables; returns its exit code."""
    request = json.dumps({"node": name, "argv": argv, "environment": dict(os.environ), "directory": os.getcwd()})
    data = request.encode()
    if len(data) > _LIMIT:
        raise LabError("request too long")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.path.join(folder, _SOCKET))
        framed = len(data).to_bytes(4, "big") + data
        sent = socket.send_fds(connection, [framed], [0, 1, 2])
        if sent < len(framed):  # nothing more is a send as well, which fails once the answer is there
            connection.sendall(framed[sent:])
        answer = connection.recv(4096).decode()
    if not answer.isdigit():
        raise LabError(answer or "the lab ended")
    return int(answer)
