# SPDX-License-Identifier: BSD-3-Clause
"""How ranks that know an address get the id of their communicator: rank 0 listens there and hands it out.

A client is sent 32 random bytes, answers with its rank, the size, and a code over both and the token (HMAC with
SHA-256), and gets the id, with a code of its own, or a line that says what is wrong.
"""
from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import socket
import time
from typing import Optional, Set, Tuple

from . import _core
from .errors import InvalidArgument, SystemFailure, Timeout, TransportError

NONCE, CODE, ID = 32, 32, 128
HELLO = 8
#: Seconds that one client may take, so that a stranger who says nothing keeps nobody waiting for long.
PATIENCE = 2.0
#: Between two attempts to reach rank 0.
AGAIN = 0.02


def meet(address: str, rank: int, size: int, token: Optional[str], timeout: float) -> bytes:
    """The id for rank `rank` of `size`. Raises InvalidArgument (address, token), Timeout (who did not come), TransportError
    (another size or token), SystemFailure (nobody can listen there)."""
    host, port = _parse(address)
    secret = (token if token is not None else os.environ.get("MULTITREE_TOKEN", "")).encode()
    if not secret and not _is_loopback(host):
        raise InvalidArgument(f"address: {address} can be reached from other hosts, where anybody could take a rank's "
                              "place: pass token=, or set MULTITREE_TOKEN, the same secret for all ranks")
    deadline = time.monotonic() + timeout
    if rank == 0:
        return _hand_out(host, port, size, secret, deadline)
    return _ask(host, port, rank, size, secret, deadline)


def _parse(address: str) -> Tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InvalidArgument(f"address: expected 'host:port' as '127.0.0.1:29500', got {address!r}")
    return host.strip("[]"), int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _code(secret: bytes, *parts: bytes) -> bytes:
    return hmac.new(secret, b"multitree" + b"".join(parts), hashlib.sha256).digest()


def _numbers(rank: int, size: int) -> bytes:
    return rank.to_bytes(4, "little") + size.to_bytes(4, "little")


def _receive(connection: socket.socket, count: int) -> bytes:
    parts = b""
    while len(parts) < count:
        part = connection.recv(count - len(parts))
        if not part:
            raise ConnectionError("closed")
        parts += part
    return parts


def _hand_out(host: str, port: int, size: int, secret: bytes, deadline: float) -> bytes:
    """Rank 0: until all others have it."""
    try:
        door = socket.create_server((host, port), family=_family(host, port), backlog=min(size, 4096))
    except OSError as error:
        raise SystemFailure(f"address: rank 0 cannot listen at {host}:{port}: {error.strerror or error}") from None
    id, missing = _core.unique_id(), set(range(1, size))
    with door:
        while missing:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Timeout(f"joining at {host}:{port}: no word from rank{'s' if len(missing) > 1 else ''} "
                              f"{', '.join(map(str, sorted(missing)))}")
            door.settimeout(min(left, 0.1))  # so that the user can interrupt it
            try:
                connection, _ = door.accept()
            except socket.timeout:
                continue
            except OSError as error:
                raise SystemFailure(f"joining at {host}:{port}: {error}") from None
            with connection:
                _serve(connection, id, size, secret, missing)
    return id


def _family(host: str, port: int) -> socket.AddressFamily:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]


def _serve(connection: socket.socket, id: bytes, size: int, secret: bytes, missing: Set[int]) -> None:
    connection.settimeout(PATIENCE)
    try:
        nonce = os.urandom(NONCE)
        connection.sendall(nonce)
        hello, code = _receive(connection, HELLO), _receive(connection, CODE)
        rank, theirs = int.from_bytes(hello[:4], "little"), int.from_bytes(hello[4:], "little")
        if not hmac.compare_digest(code, _code(secret, nonce, hello)):
            answer = "expected the token of rank 0, got another"
        elif theirs != size:
            answer = f"expected size {size}, as rank 0, got {theirs}"
        elif rank not in missing:
            answer = f"rank {rank} has come already: expected each rank once"
        else:
            connection.sendall(b"+" + id + _code(secret, nonce, id))
            missing.discard(rank)
            return
        connection.sendall(b"-" + answer.encode())
    except OSError:
        pass  # whoever it was asks again, or is missed


def _ask(host: str, port: int, rank: int, size: int, secret: bytes, deadline: float) -> bytes:
    """Another rank: until rank 0 is there and has answered."""
    where = f"joining at {host}:{port}: rank {rank}"
    reason = "nobody listens there"
    while time.monotonic() < deadline:
        try:
            with socket.create_connection((host, port), timeout=max(0.1, deadline - time.monotonic())) as connection:
                nonce = _receive(connection, NONCE)
                hello = _numbers(rank, size)
                connection.sendall(hello + _code(secret, nonce, hello))
                if _receive(connection, 1) != b"+":
                    raise TransportError(f"{where}: {connection.recv(256).decode(errors='replace')}")
                id, code = _receive(connection, ID), _receive(connection, CODE)
                if not hmac.compare_digest(code, _code(secret, nonce, id)):
                    raise TransportError(f"{where}: whoever listens there does not know the token")
                return id
        except TransportError:
            raise
        except socket.gaierror as error:
            raise InvalidArgument(f"address: {host}: {error.strerror}") from None
        except OSError as error:
            reason = error.strerror or str(error)
        time.sleep(AGAIN)
    raise Timeout(f"{where} did not reach rank 0: {reason}")
