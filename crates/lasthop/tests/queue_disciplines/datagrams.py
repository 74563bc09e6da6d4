"""Sends datagrams through a queue discipline of this kernel, and prints which left it when.

datagrams.py KIND RATE FILE: KIND is a kind of `tc` and its options, RATE is in bits per second, and FILE has a line
"NANOSECONDS FLOW LENGTH ECN" for each datagram, in the order of their times from the start. LENGTH is that of the IP packet, and
ECN the field of its IP header. Prints a line "NUMBER NANOSECONDS ECN" for each that left the device: its number in FILE, when it
left, and its ECN field then. Prints the statistics of the disciplines on stderr.
"""

import ctypes
import os
import socket
import struct
import subprocess
import sys
import time

DEVICE = "queue0"
HERE, THERE = "10.99.0.1", "10.99.0.2"
PORT = 6000
ETH_P_ALL = 3
HEADERS = 28  # IPv4 and UDP
SO_TIMESTAMPNS = 35  # <asm-generic/socket.h>; Python has no name for it
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
TIMESPEC = struct.Struct("@ll")
REALTIME, ABSOLUTE = 0, 1  # <linux/time.h>
LIBC = ctypes.CDLL(None)
# <linux/rtnetlink.h>, <linux/pkt_sched.h>
RTM_NEWQDISC, TCA_KIND = 36, 1
NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE = 1, 4, 0x200, 0x400


def run(line):
    subprocess.run(line.split(), check=True)


def add_without_options(kind):
    """`tc` may be older than a discipline of the kernel."""
    name = kind.encode() + b"\0"
    attribute = struct.pack("=HH", 4 + len(name), TCA_KIND) + name + bytes(-len(name) % 4)
    parent, handle, index = 0x00010001, 0, socket.if_nametoindex(DEVICE)
    message = struct.pack("=BxxxiIII", 0, index, handle, parent, 0) + attribute
    flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_EXCL | NLM_F_CREATE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.send(struct.pack("=IHHII", 16 + len(message), RTM_NEWQDISC, flags, 1, 0) + message)
        error = struct.unpack_from("=i", netlink.recv(65536), 16)[0]
        if error:
            sys.exit(f"{kind}: {os.strerror(-error)}")


def prepare(kind, rate):
    run(f"ip link add {DEVICE} mtu 1500 type dummy")
    run(f"ip addr add {HERE}/24 dev {DEVICE}")
    run(f"ip link set {DEVICE} up")
    run(f"tc qdisc add dev {DEVICE} root handle 1: tbf rate {rate}bit burst 1600 limit 100000000")
    if kind == "dualpi2":
        add_without_options(kind)
    else:
        run(f"tc qdisc add dev {DEVICE} parent 1:1 {kind}")


def send(file, start):
    with open("/proc/self/timerslack_ns", "w") as slack:
        slack.write("1")
    outlets = {}
    due = []
    with open(file) as lines:
        for number, line in enumerate(lines):
            at, flow, length, ecn = map(int, line.split())
            if flow not in outlets:
                outlet = outlets[flow] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                outlet.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ecn)
                outlet.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 26)
                outlet.bind((HERE, PORT + 1 + flow))
                outlet.connect((THERE, PORT))
            due.append((at, outlets[flow], number.to_bytes(4, "big") + bytes(length - HEADERS - 4)))
    for at, outlet, datagram in due:
        when = TIMESPEC.pack(*divmod(start + at, 1_000_000_000))
        while LIBC.clock_nanosleep(REALTIME, ABSOLUTE, when, None) != 0:
            pass
        outlet.send(datagram)


def receive(inlet, start, end):
    inlet.settimeout(0.5)
    while time.time_ns() < end:
        try:
            data, extras, _, address = inlet.recvmsg(65536, 1024)
        except socket.timeout:
            continue
        seconds, nanoseconds = TIMESPEC.unpack(extras[0][2])
        ip = data[14:]
        if address[2] != socket.PACKET_OUTGOING or ip[0] != 0x45 or ip[9] != socket.IPPROTO_UDP:
            continue
        print(int.from_bytes(ip[28:32], "big"), seconds * 1_000_000_000 + nanoseconds - start, ip[1] & 3)


def main():
    kind, rate, file = sys.argv[1:]
    prepare(kind, int(rate))
    inlet = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    inlet.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
    inlet.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    inlet.bind((DEVICE, ETH_P_ALL))
    with open(file) as lines:
        last = int(lines.readlines()[-1].split()[0])
    start = time.time_ns() // 1_000_000_000 * 1_000_000_000 + 2_000_000_000
    sender = os.fork()
    if sender == 0:
        send(file, start)
        os._exit(0)
    receive(inlet, start, start + last + 3_000_000_000)
    code = os.waitstatus_to_exitcode(os.waitpid(sender, 0)[1])
    subprocess.run(["tc", "-s", "qdisc", "show", "dev", DEVICE], stdout=sys.stderr)
    sys.exit(code)


main()
