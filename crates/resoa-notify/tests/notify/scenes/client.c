// A client's calls, and the state of its descriptor.
#include "scenes.h"

// Every call of a client.
void client(void) {
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

// `close` of a socket that lingers: when it returns, the socket is closed and its number is free.
// Others close as usual.
void lingers(void) {
    int fd = connected(7), other = open("/dev/null", O_RDONLY);
    struct linger linger = {.l_onoff = 1, .l_linger = 30};
    CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0);
    CHECK(close(other) == 0);
    CHECK(close(fd) == 0);
    FAILS(fcntl(fd, F_GETFD), EBADF);
    FAILS(close(fd), EBADF);
    CHECK(close(connected(7)) == 0);
}
