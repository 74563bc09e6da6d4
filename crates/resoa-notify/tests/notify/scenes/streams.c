// Data of streams: calls with an address, and connections that failed or were never made.
#include "scenes.h"

// Data of a stream in calls that have an address.
void addressed(void) {
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
    // With MSG_FASTOPEN the address matters: the call connects, and then sends.
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

// SIGPIPE is sent where the kernel's TCP sends it.
void broken(void) {
    struct sockaddr_in there = at(99);
    sendto(stream(), "x", 1, 0, (void *)&there, sizeof there);
}

// A reset is reported once, by the first call of any kind. After that the connection has ended.
void reset(void) {
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
        // These must not raise SIGPIPE, which would end the program.
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

// The error of a failed connection is reported once, by the first call, and never as an end of
// stream.
void lost(void) {
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

// Calls that only work on sockets, without a connection; and a peek that waits for all bytes.
void unconnected(void) {
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

// Control messages on a stream go nowhere, and calls with several messages behave like those with
// one.
void beside(void) {
    int fd = connected(12), ends[2];
    CHECK(pipe(ends) == 0);
    union {
        char octets[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.header), &ends[1], sizeof(int));
    struct iovec vector = {"x", 1};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.octets, .msg_controllen = sizeof control};
    CHECK(sendmsg(fd, &message, 0) == 1 && close(ends[1]) == 0);
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    CHECK(poll(&polled, 1, 0) == 1 && polled.revents == POLLHUP);
    struct mmsghdr messages[2] = {{.msg_hdr = {.msg_iov = &vector, .msg_iovlen = 1}}, {.msg_hdr = {.msg_iov = &vector, .msg_iovlen = 1}}};
    FAILS(sendmmsg(stream(), messages, 2, MSG_NOSIGNAL), EPIPE);
    FAILS(recvmmsg(stream(), messages, 2, 0, NULL), ENOTCONN);
    fd = connected(7);
    struct sockaddr_in elsewhere = at(99);
    messages[1].msg_hdr.msg_name = &elsewhere;
    messages[1].msg_hdr.msg_namelen = sizeof elsewhere;
    CHECK(sendmmsg(fd, messages, 2, 0) == 2 && messages[1].msg_len == 1);
    char got[2];
    vector.iov_base = got;
    CHECK(recvmmsg(fd, messages, 2, 0, NULL) == 2 && messages[1].msg_hdr.msg_namelen == 0);
}
