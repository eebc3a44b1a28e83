# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions: one class for each kind of failure, all of them an `Error`.

The message is the library's, which says what was expected, what was found and what to do. Most are also of the class
of Python's own that a program may already catch (`ValueError`, `OSError`, `TimeoutError`). `code` is the kind as text,
`exit_code` what the program `multitree` would end with.
"""


class Error(Exception):
    """A failure that the library reports."""

    code = "error"
    exit_code = 4


class InvalidArgument(Error, ValueError):
    """An argument, a spec or an array is wrong. Nothing was changed."""

    code = "invalid-argument"
    exit_code = 2


class InvalidUsage(Error, RuntimeError):
    """The call is wrong here and now, on a communicator that was closed for example."""

    code = "invalid-usage"
    exit_code = 2


class Unsupported(Error):
    """Valid, but not served by this network, algorithm or build."""

    code = "unsupported"
    exit_code = 2


class InvalidInput(Error, ValueError):
    """The content of a file is wrong; the message starts with file:line."""

    code = "invalid-input"
    exit_code = 3


class FileError(Error, OSError):
    """A file cannot be read or written."""

    code = "io"
    exit_code = 3


class TransportError(Error, ConnectionError):
    """A peer died, gave up or cannot be reached; the message names it. The communicator is of no use any more."""

    code = "transport"


class Timeout(Error, TimeoutError):
    """A deadline passed; the message says what was waited for."""

    code = "timeout"


class Aborted(Error):
    """Another thread of this process called `abort()`."""

    code = "aborted"


class DeviceError(Error):
    """The accelerator failed."""

    code = "device"


class SystemFailure(Error, OSError):
    """Memory, files or sockets of the operating system ran out."""

    code = "system"


class AssumptionWarning(UserWarning):
    """What the library took for granted where a file or an argument leaves it open."""


class InternalError(Error):
    """A bug of the library."""

    code = "internal"
