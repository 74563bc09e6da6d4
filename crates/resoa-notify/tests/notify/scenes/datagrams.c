// Datagrams on connected and unconnected sockets.
#include "scenes.h"

void datagrams(void) {
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
    FAILS(sendto(fd, large, sizeof large, 0, (void *)&there6, sizeof there6), EAFNOSUPPORT);
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
    // MSG_WAITFORONE waits for the first only and takes those that are there: one or both,
    // depending on when the echoes arrive.
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

// Datagrams on a connected socket.
void destined(void) {
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

// Port 54 answers `refused` with an error (ICMP), and everything else with an echo.
void refused(void) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0), value;
    struct sockaddr_in there = at(54);
    socklen_t length = sizeof value;
    char got[64] = {0};
    CHECK(connect(fd, (void *)&there, sizeof there) == 0);
    CHECK(send(fd, "one", 3, 0) == 3 && recv(fd, got, sizeof got, 0) == 3);
    CHECK(send(fd, "refused", 7, 0) == 7);
    FAILS(recv(fd, got, sizeof got, 0), ECONNREFUSED);
    FAILS(recv(fd, got, sizeof got, MSG_DONTWAIT), EAGAIN);
    // A call that only peeks reports it, too.
    CHECK(send(fd, "refused", 7, 0) == 7);
    CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1000) == 1);
    FAILS(recv(fd, got, sizeof got, MSG_PEEK), ECONNREFUSED);
    FAILS(recv(fd, got, sizeof got, MSG_PEEK | MSG_DONTWAIT), EAGAIN);
    // The next call that sends reports it, and sends nothing.
    CHECK(send(fd, "refused", 7, 0) == 7);
    CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1000) == 1);
    FAILS(send(fd, "two", 3, 0), ECONNREFUSED);
    CHECK(send(fd, "two", 3, 0) == 3 && recv(fd, got, sizeof got, 0) == 3);
    // SO_ERROR clears it.
    CHECK(send(fd, "refused", 7, 0) == 7);
    CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1000) == 1);
    CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &length) == 0 && value == ECONNREFUSED);
    FAILS(recv(fd, got, sizeof got, MSG_DONTWAIT), EAGAIN);
    // Calls that are not notified get no packet that they would misread.
    fd = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(connect(fd, (void *)&there, sizeof there) == 0);
    CHECK(write(fd, "refused", 7) == 7 && write(fd, "one", 3) == 3);
    CHECK(read(fd, got, sizeof got) == 3);
}
