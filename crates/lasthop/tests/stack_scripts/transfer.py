"""The programs of a script of hosts.

transfer.py receive PORT NANOSECONDS:BYTES...: takes one connection, reads so many bytes at each time, and then on to its
end.
transfer.py send ADDRESS PORT END NANOSECONDS:BYTES...: at each time, in nanoseconds since 1970, writes so many bytes to a
connection, which it makes before the first write and closes at END.
"""

import ctypes
import errno
import os
import socket
import struct
import sys

TIMESPEC = struct.Struct("@ll")
REALTIME, ABSOLUTE = 0, 1  # <linux/time.h>
SO_SNDBUFFORCE = 32  # <asm-generic/socket.h>; Python has no name for it
LIBC = ctypes.CDLL(None)


def sleep_until(instant):
    """Python's own sleep takes a time from now on, and is late by what it takes to reckon it."""
    when = TIMESPEC.pack(*divmod(instant, 1_000_000_000))
    while (error := LIBC.clock_nanosleep(REALTIME, ABSOLUTE, when, None)) != 0:
        if error != errno.EINTR:
            raise OSError(error, os.strerror(error))


def precise():
    """A sleep may end 50 us late unless the process asks for more precision (time(7), "Timer slack")."""
    with open("/proc/self/timerslack_ns", "w") as slack:
        slack.write("1")


def receive(port, reads):
    precise()
    listener = socket.create_server(("", port))
    connection, _ = listener.accept()
    for instant, count in reads:
        sleep_until(instant)
        connection.recv(count, socket.MSG_WAITALL)
    while connection.recv(1 << 20):
        pass
    connection.close()


def send(address, port, end, writes):
    precise()
    connection = socket.socket()
    # Everything fits into the buffer, so no write waits for TCP.
    connection.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 24)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for number, (instant, data) in enumerate(writes):
        sleep_until(instant)
        if number == 0:
            connection.connect((address, port))
        connection.sendall(data)
    sleep_until(end)
    connection.close()


def main():
    def pairs(words):
        return [tuple(map(int, each.split(":"))) for each in words]

    if sys.argv[1] == "receive":
        receive(int(sys.argv[2]), pairs(sys.argv[3:]))
    else:
        writes = [(instant, bytes(count)) for instant, count in pairs(sys.argv[5:])]
        send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), writes)


main()
