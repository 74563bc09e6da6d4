// What a program does that is run under the filter: one scene, by its name. Ends with 0 if everything was as it should be, and says what was not otherwise.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what)                                                                      \
    do {                                                                                 \
        errno = 0;                                                                       \
        if (!(what)) {                                                                   \
            printf("line %d: %s (errno %d, %s)\n", __LINE__, #what, errno, strerror(errno)); \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)
#define FAILS(call, error) CHECK((call) == -1 && errno == (error))

static struct sockaddr_in at(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);
    return address;
}

static int stream(void) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0);
    return fd;
}

static int connected(int port) {
    int fd = stream();
    struct sockaddr_in there = at(port);
    CHECK(connect(fd, (void *)&there, sizeof there) == 0);
    return fd;
}

static int listening(void) {
    int fd = stream();
    CHECK(listen(fd, 1) == 0);
    return fd;
}

static void echoed(int fd, const char *text) {
    char got[64];
    CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    CHECK(read(fd, got, sizeof got) == (ssize_t)strlen(text) && memcmp(got, text, strlen(text)) == 0);
}

// What passes in the filter, and what never does.
static void filter(void) {
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
#ifdef __x86_64__
    FAILS(syscall(0x40000000 | SYS_getpid), ENOSYS);
#endif
}

// Of all families, types and protocols: what there is is AF_UNIX's, the configuration of this host's kernel, or the agent's.
static void ways(void) {
    // Without it, and without the right to it, nothing is different but the host's network.
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

// A call by the ABI of i386: ends the process.
static void foreign(void) {
#ifdef __x86_64__
    long result = 20;
    __asm__ volatile("int $0x80" : "+a"(result)::"memory");
#else
    raise(SIGSYS);
#endif
}

// close of a socket that lingers: it is closed and has its number free when it returns. Others are as ever.
static void lingers(void) {
    int fd = connected(7), other = open("/dev/null", O_RDONLY);
    struct linger linger = {.l_onoff = 1, .l_linger = 30};
    CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0);
    CHECK(close(other) == 0);
    CHECK(close(fd) == 0);
    FAILS(fcntl(fd, F_GETFD), EBADF);
    FAILS(close(fd), EBADF);
    CHECK(close(connected(7)) == 0);
}

// Every call of a client.
static void client(void) {
    int fd = stream();
    struct sockaddr_in here = at(4000), got;
    socklen_t length = sizeof got;
    CHECK(fcntl(fd, F_GETFD) == 0 && fcntl(fd, F_GETFL) == O_RDWR);
    FAILS(bind(fd, (void *)&here, 15), EINVAL);
    FAILS(bind(fd, (void *)&here, -1), EINVAL);
    FAILS(bind(fd, NULL, 16), EFAULT);
    here.sin_port = htons(1);
    FAILS(bind(fd, (void *)&here, sizeof here), EADDRINUSE);
    here.sin_port = htons(4000);
    CHECK(bind(fd, (void *)&here, sizeof here) == 0);
    CHECK(getsockname(fd, (void *)&got, &length) == 0 && length == 16 && got.sin_port == htons(4000));
    length = 4;
    memset(&got, 0x55, sizeof got);
    CHECK(getsockname(fd, (void *)&got, &length) == 0 && length == 16 && got.sin_port == htons(4000));
    CHECK(got.sin_addr.s_addr == 0x55555555);
    length = -1;
    FAILS(getsockname(fd, (void *)&got, &length), EINVAL);
    FAILS(getsockname(fd, (void *)&got, NULL), EFAULT);
    FAILS(getpeername(fd, (void *)&got, &(socklen_t){16}), ENOTCONN);
    FAILS(shutdown(fd, SHUT_WR), ENOTCONN);
    FAILS(shutdown(fd, 3), EINVAL);
    FAILS(accept(fd, NULL, NULL), EINVAL);
    struct sockaddr_in there = at(9);
    FAILS(connect(fd, (void *)&there, sizeof there), ECONNREFUSED);
    there.sin_port = htons(7);
    CHECK(connect(fd, (void *)&there, sizeof there) == 0);
    length = sizeof got;
    CHECK(getpeername(fd, (void *)&got, &length) == 0 && memcmp(&got, &there, 16) == 0);
    echoed(fd, "over the descriptor");
    FAILS(accept(fd, NULL, NULL), EINVAL);
    int value = 5;
    length = sizeof value;
    CHECK(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &length) == 0 && value == 601 && length == 4);
    length = 2;
    value = -1;
    CHECK(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &length) == 0 && length == 2 && value == (int)0xffff0259);
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, 4) == 0);
    FAILS(setsockopt(fd, SOL_SOCKET, 77, &value, 4), ENOPROTOOPT);
    struct timeval tv = {0, 30000};
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv) == 0);
    char octet;
    FAILS(read(fd, &octet, 1), EAGAIN);
    CHECK(ioctl(fd, TIOCOUTQ, &value) == 0 && value == 42);
    CHECK(ioctl(fd, FIONREAD, &value) == 0 && value == 0);
    CHECK(shutdown(fd, SHUT_WR) == 0);
    CHECK(read(fd, &octet, 1) == 0);
    close(fd);
    fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC && fcntl(fd, F_GETFL) == (O_RDWR | O_NONBLOCK));
    FAILS(connect(fd, (void *)&there, sizeof there), EINPROGRESS);
    CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, (length = 4, &length)) == 0 && value == 0);
}

// Ports that take a privilege, with it and without.
static void privileged(void) {
    struct sockaddr_in low = at(80), high = at(8080);
    if (geteuid() == 0) CHECK(bind(stream(), (void *)&low, sizeof low) == 0);
    struct { unsigned version; int pid; } header = {0x20080522, 0};
    CHECK(syscall(SYS_capset, &header, (unsigned[6]){0}) == 0);
    FAILS(bind(stream(), (void *)&low, sizeof low), EACCES);
    CHECK(bind(stream(), (void *)&high, sizeof high) == 0);
}

// Data of a stream in calls that have an address.
static void addressed(void) {
    int fd = connected(7);
    struct sockaddr_in there = at(99), from;
    socklen_t length = sizeof from;
    char got[64];
    CHECK(sendto(fd, "ignored", 7, 0, (void *)&there, sizeof there) == 7);
    CHECK(recvfrom(fd, got, sizeof got, 0, (void *)&from, &length) == 7 && length == 0);
    CHECK(memcmp(got, "ignored", 7) == 0);
    CHECK(sendto(fd, "x", 1, 0, (void *)&there, sizeof there) == 1);
    FAILS(recvfrom(fd, got, sizeof got, MSG_PEEK, (void *)&from, NULL), EFAULT);
    length = -1;
    FAILS(recvfrom(fd, got, sizeof got, 0, (void *)&from, &length), EINVAL);
    struct iovec vector[2] = {{"ab", 2}, {"cde", 3}};
    struct msghdr message = {.msg_name = &there, .msg_namelen = 16, .msg_iov = vector, .msg_iovlen = 2};
    CHECK(sendmsg(fd, &message, 0) == 5);
    struct iovec into[2] = {{got, 1}, {got + 10, 10}};
    message.msg_iov = into;
    CHECK(recvmsg(fd, &message, MSG_PEEK) == 5 && message.msg_namelen == 0 && message.msg_flags == 0);
    message.msg_name = NULL;
    CHECK(recvmsg(fd, &message, 0) == 5 && got[0] == 'a' && memcmp(got + 10, "bcde", 4) == 0);
    CHECK(send(fd, "thrown away", 11, 0) == 11);
    CHECK(recv(fd, NULL, 11, MSG_TRUNC | MSG_WAITALL) == 11);
    FAILS(recvfrom(fd, got, 1, MSG_DONTWAIT, (void *)&from, &length), EAGAIN);
    FAILS(recvfrom(stream(), got, 1, 0, (void *)&from, &length), ENOTCONN);
    signal(SIGPIPE, SIG_IGN);
    FAILS(sendto(stream(), "x", 1, 0, (void *)&there, sizeof there), EPIPE);
    // With MSG_FASTOPEN the address means something: it connects, and then sends.
    int fast = stream();
    FAILS(sendto(fast, "x", 1, MSG_FASTOPEN, NULL, 0), EINVAL);
    FAILS(sendto(fast, "x", 1, MSG_FASTOPEN, (void *)&(struct sockaddr_in){.sin_family = AF_UNSPEC}, sizeof there), EOPNOTSUPP);
    CHECK(sendto(fast, "x", 1, MSG_FASTOPEN, (void *)&there, sizeof there) == 1);
    CHECK(recv(fast, got, sizeof got, 0) == 1 && got[0] == 'x');
    FAILS(send(fast, "x", 1, MSG_FASTOPEN), EISCONN);
    struct sockaddr_in nobody = at(9);
    FAILS(sendto(stream(), "x", 1, MSG_FASTOPEN, (void *)&nobody, sizeof nobody), ECONNREFUSED);
    FAILS(sendto(stream(), "x", 1, MSG_FASTOPEN | MSG_DONTWAIT, (void *)&there, sizeof there), EINPROGRESS);
    size_t large = 3 << 20;
    char *octets = malloc(large), *back = malloc(large);
    memset(octets, 'x', large);
    pid_t child = fork();
    if (child == 0) {
        CHECK(sendto(fd, octets, large, 0, (void *)&there, sizeof there) == (ssize_t)large);
        exit(0);
    }
    length = sizeof from;
    CHECK(recvfrom(fd, back, large, MSG_WAITALL, (void *)&from, &length) == (ssize_t)large && back[large - 1] == 'x');
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

// SIGPIPE comes where a kernel's TCP sends it.
static void broken(void) {
    struct sockaddr_in there = at(99);
    sendto(stream(), "x", 1, 0, (void *)&there, sizeof there);
}

static void datagrams(void) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0), value;
    struct sockaddr_in there = at(53), from = {0};
    socklen_t length = sizeof from;
    char got[64] = {0};
    CHECK(sendto(fd, "query", 5, 0, (void *)&there, sizeof there) == 5);
    CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1000) == 1);
    CHECK(ioctl(fd, FIONREAD, &value) == 0 && value == 5);
    CHECK(recvfrom(fd, got, sizeof got, MSG_PEEK, (void *)&from, &length) == 5 && memcmp(&from, &there, 16) == 0);
    memset(got, 0, sizeof got);
    CHECK(recvfrom(fd, got, 3, MSG_TRUNC, (void *)&from, &length) == 5 && memcmp(got, "que", 4) == 0);
    FAILS(recvfrom(fd, got, 3, MSG_DONTWAIT, (void *)&from, &length), EAGAIN);
    FAILS(sendmsg(fd, &(struct msghdr){.msg_iov = &(struct iovec){"x", 1}, .msg_iovlen = 1}, 0), EDESTADDRREQ);
    FAILS(send(fd, "x", 1, 0), EDESTADDRREQ);
    CHECK(sendto(fd, "answer", 6, 0, (void *)&there, sizeof there) == 6);
    CHECK(recv(fd, got, sizeof got, 0) == 6 && memcmp(got, "answer", 6) == 0);
    static char large[65508];
    FAILS(sendto(fd, large, sizeof large, 0, (void *)&there, sizeof there), EMSGSIZE);
    struct sockaddr_in6 there6 = {.sin6_family = AF_INET6, .sin6_port = htons(53), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    CHECK(sendto(fd, large, sizeof large, 0, (void *)&there6, sizeof there6) == sizeof large);
    length = sizeof from;
    CHECK(recvfrom(fd, large, sizeof large, 0, (void *)&from, &length) == sizeof large && length == 28);
    length = sizeof from;
    there.sin_family = AF_UNSPEC;
    CHECK(sendto(fd, "query", 5, 0, (void *)&there, sizeof there) == 5);
    there.sin_family = AF_INET;
    CHECK(recvfrom(fd, got, sizeof got, 0, (void *)&from, &length) == 5 && memcmp(&from, &there, 16) == 0);
    struct sockaddr_in nowhere = at(0);
    FAILS(sendto(fd, "x", 1, 0, (void *)&nowhere, sizeof nowhere), EINVAL);
    CHECK(sendto(fd, "", 0, 0, (void *)&there, sizeof there) == 0);
    length = sizeof from;
    CHECK(recvfrom(fd, got, 3, 0, (void *)&from, &length) == 0 && length == 16);
    struct iovec vectors[2] = {{"first", 5}, {"second", 6}};
    struct mmsghdr messages[3] = {0};
    for (int i = 0; i < 2; i++)
        messages[i].msg_hdr = (struct msghdr){.msg_name = &there, .msg_namelen = 16, .msg_iov = &vectors[i], .msg_iovlen = 1};
    CHECK(sendmmsg(fd, messages, 2, 0) == 2 && messages[0].msg_len == 5 && messages[1].msg_len == 6);
    char rooms[3][4];
    struct sockaddr_in senders[3];
    for (int i = 0; i < 3; i++) {
        static struct iovec into[3];
        into[i] = (struct iovec){rooms[i], 4};
        messages[i].msg_hdr = (struct msghdr){.msg_name = &senders[i], .msg_namelen = 16, .msg_iov = &into[i], .msg_iovlen = 1, .msg_controllen = 9};
    }
    // It waits for as many as it asks for.
    CHECK(recvmmsg(fd, messages, 2, 0, NULL) == 2);
    CHECK(messages[1].msg_len == 4 && messages[1].msg_hdr.msg_flags == MSG_TRUNC);
    CHECK(messages[1].msg_hdr.msg_namelen == 16 && messages[1].msg_hdr.msg_controllen == 0);
    CHECK(memcmp(rooms[1], "seco", 4) == 0 && senders[1].sin_port == htons(53));
    // Or for one alone, and takes what is there: one or both, since they come back when they do.
    CHECK(sendto(fd, "x", 1, 0, (void *)&there, sizeof there) == 1 && sendto(fd, "y", 1, 0, (void *)&there, sizeof there) == 1);
    for (int taken = 0, more; taken < 2; taken += more)
        CHECK((more = recvmmsg(fd, messages, 3, MSG_WAITFORONE, NULL)) > 0);
    struct timespec times[] = {{-1, 0}, {-1, 2000000000}, {0, 1000000000}, {0, -1}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        FAILS(recvmmsg(fd, messages, 1, MSG_DONTWAIT, &times[i]), EINVAL);
    FAILS(recvmmsg(fd, messages, 1, MSG_DONTWAIT, &(struct timespec){1L << 62, 0}), EAGAIN);
    FAILS(accept(fd, NULL, NULL), EOPNOTSUPP);
    struct timeval tv = {0, 30000};
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv) == 0);
    FAILS(recvfrom(fd, got, 3, 0, (void *)&from, &length), EAGAIN);
}

// Datagrams of a socket with a destination of its own.
static void destined(void) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0), value;
    struct sockaddr_in there = at(53), elsewhere = at(54), from = {0};
    socklen_t length = sizeof from;
    char got[64] = {0};
    CHECK(connect(fd, (void *)&there, sizeof there) == 0);
    CHECK(write(fd, "plain", 5) == 5 && read(fd, got, sizeof got) == 5 && memcmp(got, "plain", 5) == 0);
    CHECK(sendto(fd, "same", 4, 0, (void *)&there, sizeof there) == 4);
    CHECK(recvfrom(fd, got, sizeof got, 0, (void *)&from, &length) == 4 && memcmp(&from, &there, 16) == 0);
    CHECK(memcmp(got, "same", 4) == 0);
    CHECK(sendmsg(fd, &(struct msghdr){.msg_iov = &(struct iovec){"none", 4}, .msg_iovlen = 1}, 0) == 4);
    CHECK(recvfrom(fd, got, 2, 0, NULL, NULL) == 2);
    CHECK(sendto(fd, "else", 4, 0, (void *)&elsewhere, sizeof elsewhere) == 4);
    union {
        char octets[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control = {0};
    struct msghdr beside = {.msg_iov = &(struct iovec){"beside", 6}, .msg_iovlen = 1, .msg_control = control.octets, .msg_controllen = CMSG_LEN(sizeof(int))};
    control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = IPPROTO_IP, .cmsg_type = IP_TOS};
    value = 4;
    memcpy(CMSG_DATA(&control.header), &value, sizeof value);
    CHECK(sendmsg(fd, &beside, 0) == 6);
    value = 256;
    memcpy(CMSG_DATA(&control.header), &value, sizeof value);
    FAILS(sendmsg(fd, &beside, 0), EINVAL);
    control.header.cmsg_len = 15;
    FAILS(sendmsg(fd, &beside, 0), EINVAL);
    beside.msg_control = (void *)8;
    FAILS(sendmsg(fd, &beside, 0), EFAULT);
    FAILS(recvfrom(fd, got, sizeof got, MSG_DONTWAIT, (void *)&from, &length), EAGAIN);
    CHECK(shutdown(fd, SHUT_RDWR) == 0);
    CHECK(recvfrom(fd, got, sizeof got, 0, (void *)&from, &length) == 0);
    FAILS(sendto(fd, "late", 4, MSG_NOSIGNAL, (void *)&there, sizeof there), EPIPE);
}

// Port 54 answers `refused` with an error (ICMP), and what was said before with an echo.
static void refused(void) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0), value;
    struct sockaddr_in there = at(54);
    socklen_t length = sizeof value;
    char got[64] = {0};
    CHECK(connect(fd, (void *)&there, sizeof there) == 0);
    CHECK(send(fd, "one", 3, 0) == 3 && recv(fd, got, sizeof got, 0) == 3);
    CHECK(send(fd, "refused", 7, 0) == 7);
    FAILS(recv(fd, got, sizeof got, 0), ECONNREFUSED);
    FAILS(recv(fd, got, sizeof got, MSG_DONTWAIT), EAGAIN);
    // Looked at, it is told as well.
    CHECK(send(fd, "refused", 7, 0) == 7);
    CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1000) == 1);
    FAILS(recv(fd, got, sizeof got, MSG_PEEK), ECONNREFUSED);
    FAILS(recv(fd, got, sizeof got, MSG_PEEK | MSG_DONTWAIT), EAGAIN);
    // The next one that sends hears of it, and sends nothing.
    CHECK(send(fd, "refused", 7, 0) == 7);
    CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1000) == 1);
    FAILS(send(fd, "two", 3, 0), ECONNREFUSED);
    CHECK(send(fd, "two", 3, 0) == 3 && recv(fd, got, sizeof got, 0) == 3);
    // SO_ERROR takes it away.
    CHECK(send(fd, "refused", 7, 0) == 7);
    CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1000) == 1);
    CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &length) == 0 && value == ECONNREFUSED);
    FAILS(recv(fd, got, sizeof got, MSG_DONTWAIT), EAGAIN);
    // Calls that are not seen are told nothing that they would misunderstand.
    fd = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(connect(fd, (void *)&there, sizeof there) == 0);
    CHECK(write(fd, "refused", 7) == 7 && write(fd, "one", 3) == 3);
    CHECK(read(fd, got, sizeof got) == 3);
}

static void accepts(void) {
    int fd = listening();
    struct sockaddr_in peer;
    socklen_t length = sizeof peer;
    FAILS(accept4(fd, NULL, NULL, 1), EINVAL);
    CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    FAILS(accept(fd, NULL, NULL), EAGAIN);
    CHECK(fcntl(fd, F_SETFL, 0) == 0);
    int child = accept4(fd, (void *)&peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    CHECK(child == fd + 1 && length == 16 && peer.sin_port == htons(4242));
    CHECK(fcntl(child, F_GETFD) == FD_CLOEXEC && fcntl(child, F_GETFL) == (O_RDWR | O_NONBLOCK));
    char got[8];
    CHECK(read(child, got, 8) == 5);
    struct timeval tv = {0, 30000};
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv) == 0);
    FAILS(accept(fd, NULL, NULL), EAGAIN);
    // What a connection has from its listener.
    fd = stream();
    tv.tv_usec = 500000;
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv) == 0 && listen(fd, 1) == 0);
    child = accept(fd, NULL, NULL);
    CHECK(child >= 0 && read(child, got, 8) == 5);
    FAILS(read(child, got, 8), EAGAIN);
}

// Reset by the far host: SO_ERROR tells it once, and a call with an address is told what the agent knows.
// A connection that was reset says so once, by whichever call comes first; then it is over.
static void reset(void) {
    char octet;
    struct iovec vector = {&octet, 1};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    for (int first = 0; first < 6; first++) {
        int fd = connected(10), error;
        socklen_t length = sizeof error;
        CHECK(write(fd, "x", 1) == 1);
        struct pollfd polled = {.fd = fd};
        CHECK(poll(&polled, 1, 5000) == 1 && polled.revents == (POLLERR | POLLHUP));
        struct sockaddr_in from;
        // SIGPIPE would end the program.
        if (first == 0) CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == ECONNRESET);
        if (first == 1) FAILS(recvfrom(fd, &octet, 1, 0, (void *)&from, &length), ECONNRESET);
        if (first == 2) FAILS(recv(fd, &octet, 1, 0), ECONNRESET);
        if (first == 3) FAILS(recvmsg(fd, &message, 0), ECONNRESET);
        if (first == 4) FAILS(send(fd, "x", 1, 0), ECONNRESET);
        if (first == 5) FAILS(sendmsg(fd, &message, 0), ECONNRESET);
        CHECK(first % 2 ? recv(fd, &octet, 1, 0) == 0 : read(fd, &octet, 1) == 0);
        FAILS(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
        CHECK(recv(fd, &octet, 1, 0) == 0);
    }
}

// A connection that is lost: its error comes once, whoever hears it, and never as an end that there was not.
static void lost(void) {
    signal(SIGPIPE, SIG_IGN);
    struct sockaddr_in there = at(11), from;
    socklen_t length = sizeof from;
    char got[8];
    int fd = connected(11);
    CHECK(recvfrom(fd, got, sizeof got, MSG_WAITALL, (void *)&from, &length) == 4);
    FAILS(recvfrom(fd, got, sizeof got, 0, (void *)&from, &length), ETIMEDOUT);
    CHECK(recvfrom(fd, got, sizeof got, 0, (void *)&from, &length) == 0);
    fd = connected(11);
    FAILS(sendto(fd, "x", 1, 0, (void *)&there, sizeof there), ETIMEDOUT);
    FAILS(sendto(fd, "x", 1, 0, (void *)&there, sizeof there), EPIPE);
    CHECK(read(fd, got, sizeof got) == 4 && read(fd, got, sizeof got) == 0);
    fd = connected(11);
    FAILS(shutdown(fd, SHUT_WR), ENOTCONN);
    fd = connected(7);
    CHECK(shutdown(fd, SHUT_WR) == 0 && read(fd, got, sizeof got) == 0);
    CHECK(shutdown(fd, SHUT_WR) == 0);
}

// What only sockets have, where there is no connection; and a peek that waits for all of it.
static void unconnected(void) {
    char got[64];
    struct msghdr message = {.msg_iov = &(struct iovec){got, 1}, .msg_iovlen = 1};
    for (int i = 0; i < 2; i++) {
        int fd = i == 0 ? stream() : listening();
        FAILS(recv(fd, got, 1, 0), ENOTCONN);
        FAILS(recvmsg(fd, &message, 0), ENOTCONN);
        FAILS(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
        FAILS(sendmsg(fd, &message, MSG_NOSIGNAL), EPIPE);
    }
    int fd = connected(7);
    CHECK(send(fd, "one", 3, 0) == 3 && recv(fd, got, 3, MSG_PEEK | MSG_WAITALL) == 3);
    pid_t child = fork();
    if (child == 0) {
        usleep(50000);
        exit(write(fd, "two", 3) != 3);
    }
    CHECK(recv(fd, got, 6, MSG_PEEK | MSG_WAITALL) == 6 && memcmp(got, "onetwo", 6) == 0);
    CHECK(recv(fd, got, 64, 0) == 6);
    FAILS(recv(fd, got, 6, MSG_PEEK | MSG_WAITALL | MSG_DONTWAIT), EAGAIN);
    struct timeval tv = {0, 30000};
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv) == 0);
    FAILS(recv(fd, got, 6, MSG_PEEK | MSG_WAITALL), EAGAIN);
    CHECK(write(fd, "x", 1) == 1 && poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1) == 1);
    CHECK(recv(fd, got, 6, MSG_PEEK | MSG_WAITALL) == 1);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void *accepting(void *listener) {
    return (void *)(long)accept(*(int *)listener, NULL, NULL);
}

// A thread waits in accept while another one works; then what it waited for comes.
static void meanwhile(void) {
    int fd = stream();
    CHECK(listen(fd, 1) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, accepting, &fd) == 0);
    for (int i = 0; i < 200; i++) {
        int other = connected(7);
        echoed(other, "meanwhile");
        close(other);
    }
    void *child;
    CHECK(pthread_join(thread, &child) == 0 && (long)child > fd);
    // Twenty that wait for ever hold up nobody.
    pthread_t waiting[20];
    for (int i = 0; i < 20; i++) CHECK(pthread_create(&waiting[i], NULL, accepting, &fd) == 0);
    usleep(50000);
    for (int i = 0; i < 200; i++) {
        int other = connected(7);
        echoed(other, "meanwhile");
        close(other);
    }
}

// A socket goes with fork and exec, and is known by any number.
static void forks(void) {
    int fd = connected(7);
    pid_t child = fork();
    if (child == 0) {
        struct sockaddr_in got;
        socklen_t length = sizeof got;
        CHECK(dup2(fd, 77) == 77 && close(fd) == 0);
        CHECK(getpeername(77, (void *)&got, &length) == 0 && got.sin_port == htons(7));
        echoed(77, "of the child");
        execl("/proc/self/exe", "program", "inherited", NULL);
        exit(1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    echoed(fd, "of the parent");
}

static void inherited(void) {
    struct sockaddr_in got;
    socklen_t length = sizeof got;
    CHECK(getpeername(77, (void *)&got, &length) == 0 && got.sin_port == htons(7));
    echoed(77, "after exec");
}

static void nothing(int signal) { (void)signal; }

static void handled(int flags) {
    struct sigaction action = {.sa_handler = nothing, .sa_flags = flags};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    ualarm(30000, 0);
}

// Section 3.14: handlers interrupt calls that wait, or they start again.
static void interrupts(void) {
    int fd = listening();
    handled(0);
    FAILS(accept(fd, NULL, NULL), EINTR);
    handled(SA_RESTART);
    CHECK(accept(fd, NULL, NULL) >= 0);
    handled(0);
    struct sockaddr_in never = at(19);
    FAILS(connect(stream(), (void *)&never, sizeof never), EINTR);
    int udp = socket(AF_INET, SOCK_DGRAM, 0);
    handled(0);
    char octet;
    FAILS(recvfrom(udp, &octet, 1, 0, (void *)&never, &(socklen_t){16}), EINTR);
    struct timeval tv = {0, 60000};
    int late = stream();
    CHECK(setsockopt(late, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv) == 0);
    never = at(19);
    FAILS(connect(late, (void *)&never, sizeof never), EINPROGRESS);
}

// A stop, by whatever it is, starts the call again.
static void stopped(void) {
    int fd = stream();
    pid_t self = getpid();
    CHECK(listen(fd, 1) == 0);
    if (fork() == 0) {
        usleep(40000);
        kill(self, SIGSTOP);
        usleep(40000);
        kill(self, SIGCONT);
        exit(0);
    }
    CHECK(accept(fd, NULL, NULL) == fd + 1);
}

static void *often(void *thread) {
    while (pthread_kill(*(pthread_t *)thread, SIGURG) == 0) {}
    return NULL;
}

// Signals that come all the time, as in programs of Go, make no call start twice.
static void signalled(void) {
    struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGURG, &action, NULL) == 0);
    static pthread_t self, other;
    self = pthread_self();
    CHECK(pthread_create(&other, NULL, often, &self) == 0);
    for (int i = 0; i < 300; i++) {
        struct sockaddr_in here = at(4000);
        int fd = stream();
        CHECK(fd == 3 && bind(fd, (void *)&here, sizeof here) == 0);
        close(fd);
    }
}

// Waits in connect for ever; the test kills it.
static void stuck(void) {
    struct sockaddr_in never = at(19);
    connect(stream(), (void *)&never, sizeof never);
}

// Leaves somebody behind who still has a socket, and ends first.
static void leaves(void) {
    int fd = connected(7);
    if (fork() == 0) {
        usleep(200000);
        echoed(fd, "still there");
        CHECK(creat("left", 0600) >= 0);
        exit(0);
    }
    exit(3);
}

static double microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static int ascending(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

// Times of a call that passes, one that the kernel goes on with, one that the agent answers, and one that the kernel goes on with after a look.
static void cost(void) {
    enum { TIMES = 20000 };
    static double spans[TIMES];
    int local = socket(AF_UNIX, SOCK_STREAM, 0), remote = stream(), there = connected(7);
    struct sockaddr_storage name;
    char octet;
    for (int kind = 0; kind < 4; kind++) {
        for (int i = 0; i < TIMES; i++) {
            socklen_t length = sizeof name;
            double begin = microseconds();
            if (kind == 0) syscall(SYS_getppid);
            if (kind == 1) getsockname(local, (void *)&name, &length);
            if (kind == 2) getsockname(remote, (void *)&name, &length);
            if (kind == 3) recv(there, &octet, 1, MSG_DONTWAIT);
            spans[i] = microseconds() - begin;
        }
        qsort(spans, TIMES, sizeof *spans, ascending);
        printf("%s: median %.2f us, 99 %% %.2f us\n",
               (const char *[]){"getppid, which passes", "getsockname of AF_UNIX, which goes on", "getsockname, which the agent answers",
                               "recv of a stream, which goes on"}[kind],
               spans[TIMES / 2], spans[TIMES * 99 / 100]);
    }
}

int main(int count, char **arguments) {
    struct {
        const char *name;
        void (*play)(void);
    } scenes[] = {{"filter", filter},       {"foreign", foreign},     {"client", client}, {"stopped", stopped}, {"destined", destined}, {"reset", reset}, {"lost", lost}, {"signalled", signalled}, {"unconnected", unconnected}, {"lingers", lingers}, {"refused", refused}, {"privileged", privileged}, {"ways", ways},         {"addressed", addressed}, {"broken", broken},
                  {"datagrams", datagrams}, {"accepts", accepts},     {"meanwhile", meanwhile},   {"forks", forks},         {"inherited", inherited},
                  {"interrupts", interrupts}, {"stuck", stuck},       {"leaves", leaves},         {"cost", cost}};
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        if (count == 2 && strcmp(arguments[1], scenes[i].name) == 0) {
            scenes[i].play();
            return 0;
        }
    printf("no such scene\n");
    return 2;
}
