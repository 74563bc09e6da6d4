// Calls that pass the filter, calls that never pass, and calls that need a privilege.
#include "scenes.h"

// Calls that pass the filter, and calls that never pass.
void filter(void) {
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    int local = socket(AF_UNIX, SOCK_DGRAM, 0);
    CHECK(local >= 0 && socket(AF_NETLINK, SOCK_RAW, 0) >= 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t length = sizeof name;
    CHECK(bind(local, (void *)&name, sizeof(sa_family_t)) == 0);
    CHECK(getsockname(local, (void *)&name, &length) == 0 && name.sun_family == AF_UNIX && length == 8);
    int type;
    length = sizeof type;
    CHECK(getsockopt(local, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_DGRAM);
    struct msghdr empty = {0};
    CHECK(sendmsg(pair[0], &(struct msghdr){.msg_iov = &(struct iovec){"abc", 3}, .msg_iovlen = 1}, 0) == 3);
    CHECK(ioctl(pair[1], FIONREAD, &type) == 0 && type == 3);
    CHECK(recvmsg(pair[1], &empty, 0) == 0);
    FAILS(getsockname(0x7fff, (void *)&name, &length), EBADF);
    FAILS(listen(open("/dev/null", O_RDWR), 1), ENOTSOCK);
    FAILS(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), EPERM);
    FAILS(socket(AF_PACKET, SOCK_DGRAM, 0), EPERM);
    FAILS(socket(AF_VSOCK, SOCK_STREAM, 0), EAFNOSUPPORT);
    FAILS(socket(AF_INET, SOCK_STREAM, 262), EPROTONOSUPPORT);
    FAILS(socketpair(AF_TIPC, SOCK_STREAM, 0, pair), EOPNOTSUPP);
    FAILS(syscall(SYS_io_uring_setup, 4, NULL), ENOSYS);
    FAILS(syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, getpid(), 0), 0, 0), EPERM);
#ifdef __x86_64__
    FAILS(syscall(0x40000000 | SYS_getpid), ENOSYS);
#endif
}

// For all families, types and protocols: every socket is AF_UNIX, netlink, or the agent's.
void ways(void) {
    // Without the privilege the scene runs in the host's network, which makes no other difference.
    (void)unshare(CLONE_NEWNET);
    const int protocols[] = {0, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_DCCP, IPPROTO_SCTP, 115 /* L2TP */, IPPROTO_UDPLITE, IPPROTO_RAW, 256 /* SMC */, IPPROTO_MPTCP};
    for (int family = 0; family < 64; family++)
        for (int type = 0; type < 16; type++)
            for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) {
                int fd = socket(family, type, protocols[i]), pair[2];
                if (family != AF_UNIX) FAILS(socketpair(family, type, protocols[i], pair), EOPNOTSUPP);
                if (fd < 0) continue;
                CHECK(family == AF_UNIX || family == AF_NETLINK || family == AF_INET || family == AF_INET6);
                CHECK(family == AF_UNIX || (type != SOCK_RAW && type != SOCK_PACKET) || family == AF_NETLINK);
                close(fd);
            }
    FAILS(syscall(SYS_io_uring_setup, 1, NULL), ENOSYS);
    FAILS(syscall(SYS_io_uring_enter, 0, 1, 0, 0, NULL, 0), ENOSYS);
    FAILS(syscall(SYS_io_uring_register, 0, 0, NULL, 0), ENOSYS);
}

// A call by the i386 ABI, which kills the process.
void foreign(void) {
#ifdef __x86_64__
    long result = 20;
    __asm__ volatile("int $0x80" : "+a"(result)::"memory");
#else
    raise(SIGSYS);
#endif
}

// Privileged ports, with and without the privilege.
void privileged(void) {
    struct sockaddr_in low = at(80), high = at(8080);
    if (geteuid() == 0) CHECK(bind(stream(), (void *)&low, sizeof low) == 0);
    struct { unsigned version; int pid; } header = {0x20080522, 0};
    CHECK(syscall(SYS_capset, &header, (unsigned[6]){0}) == 0);
    FAILS(bind(stream(), (void *)&low, sizeof low), EACCES);
    CHECK(bind(stream(), (void *)&high, sizeof high) == 0);
}
