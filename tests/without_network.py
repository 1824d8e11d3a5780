"""Run a command; kill it once it or a child process opens an internet socket:

python without_network.py COMMAND...

A filter of the kernel's (seccomp), which binds native code too and is inherited.
"""

import ctypes
import os
import platform
import socket
import struct
import sys

# the kernel's numbers: the processor as seccomp names it, and the system call `socket`
CALLS = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, KILL = 0x7FFF0000, 0x80000000
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2


def forbid() -> None:
    """Kill this process and its children where they make an internet socket."""
    architecture, call = CALLS[platform.machine()]
    steps = [
        (LOAD, 0, 0, 4),  # the processor
        (IF_EQUAL, 0, 6, architecture),
        (LOAD, 0, 0, 0),  # the call
        (IF_EQUAL, 0, 4, call),
        (LOAD, 0, 0, 16),  # its first argument: the family
        (IF_EQUAL, 1, 0, socket.AF_INET),
        (IF_EQUAL, 0, 1, socket.AF_INET6),
        (RETURN, 0, 0, KILL),
        (RETURN, 0, 0, ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HL", len(steps), ctypes.addressof(code))
    kernel = ctypes.CDLL(None, use_errno=True)
    if kernel.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or kernel.prctl(SET_SECCOMP, FILTER, program):
        sys.exit(f"There are no filters here: {os.strerror(ctypes.get_errno())}.")


if __name__ == "__main__":
    forbid()
    os.execv(sys.argv[1], sys.argv[1:])
