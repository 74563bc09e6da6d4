"""Sends datagrams at given times and writes down when others came, by this kernel's clock.

datagrams.py FILE PEER START END: FILE has a line "NANOSECONDS NUMBER LENGTH" for each datagram to send, NANOSECONDS after
START; START and END are in nanoseconds since 1970, and LENGTH is that of the IP packet. Prints a line "NANOSECONDS NUMBER
LENGTH" for each that came, with the time stamp that the kernel gave it when it took it from the device.
"""

import collections
import ctypes
import errno
import os
import socket
import struct
import sys
import time

PORT = 6000
HEADERS = 28  # IPv4 and UDP
SO_TIMESTAMPNS = 35  # <asm-generic/socket.h>; Python has no name for it
TIMESPEC = struct.Struct("@ll")
REALTIME, ABSOLUTE = 0, 1  # <linux/time.h>
LIBC = ctypes.CDLL(None)


def receive(inlet, start, end):
    while True:
        left = end - time.time_ns()
        if left <= 0:
            return
        inlet.settimeout(left / 1e9)
        try:
            data, extras, _, _ = inlet.recvmsg(65536, 1024)
        except socket.timeout:
            return
        seconds, nanoseconds = TIMESPEC.unpack(extras[0][2])
        came = seconds * 1_000_000_000 + nanoseconds - start
        print(came, int.from_bytes(data[:2], "big"), len(data) + HEADERS)


def sleep_until(instant):
    """Python's own sleep takes a time from now on, and is late by what it takes to reckon it."""
    when = TIMESPEC.pack(*divmod(instant, 1_000_000_000))
    while (error := LIBC.clock_nanosleep(REALTIME, ABSOLUTE, when, None)) != 0:
        if error != errno.EINTR:
            raise OSError(error, os.strerror(error))


def send(file, peer, start):
    # Between two datagrams of one instant nothing looks at the clock: in virtual time each look
    # takes 16 ns. A sleep may end 50 us late unless the process asks for more precision (time(7),
    # "Timer slack"), in virtual time too.
    with open("/proc/self/timerslack_ns", "w") as slack:
        slack.write("1")
    outlet = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    outlet.connect((peer, PORT))
    due = collections.defaultdict(list)
    with open(file) as lines:
        for line in lines:
            at, number, length = map(int, line.split())
            due[start + at].append(number.to_bytes(2, "big") + bytes(length - HEADERS - 2))
    for instant, datagrams in due.items():
        sleep_until(instant)
        for datagram in datagrams:
            outlet.send(datagram)


def main():
    file, peer, start, end = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    inlet = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    inlet.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    inlet.bind(("0.0.0.0", PORT))
    sender = os.fork()
    if sender == 0:
        send(file, peer, start)
        os._exit(0)
    receive(inlet, start, end)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(sender, 0)[1]))


main()
