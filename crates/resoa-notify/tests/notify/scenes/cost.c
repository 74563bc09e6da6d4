// Cost of calls.
#include "scenes.h"

static double microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static int ascending(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

// Prints the times of a call that passes, a call that the kernel continues, a call that the agent
// answers, and a call that the kernel continues after a check. Also of exchanges of 64 bytes whose
// last call waits, in the kernel and in the notifier.
void cost(void) {
    enum { TIMES = 20000 };
    static double spans[TIMES];
    int local = socket(AF_UNIX, SOCK_STREAM, 0), remote = stream(), there = connected(7);
    struct sockaddr_storage name;
    char octet, octets[64] = {0};
    for (int kind = 0; kind < 6; kind++) {
        for (int i = 0; i < TIMES; i++) {
            socklen_t length = sizeof name;
            double begin = microseconds();
            if (kind == 0) syscall(SYS_getppid);
            if (kind == 1) getsockname(local, (void *)&name, &length);
            if (kind == 2) getsockname(remote, (void *)&name, &length);
            if (kind == 3) recv(there, &octet, 1, MSG_DONTWAIT);
            if (kind == 4) CHECK(write(there, octets, 64) == 64 && read(there, octets, 64) == 64);
            if (kind == 5) CHECK(send(there, octets, 64, 0) == 64 && recv(there, octets, 64, 0) == 64);
            spans[i] = microseconds() - begin;
        }
        qsort(spans, TIMES, sizeof *spans, ascending);
        printf("%s: median %.2f us, 99 %% %.2f us\n",
               (const char *[]){"getppid, which passes", "getsockname of AF_UNIX, which goes on", "getsockname, which the agent answers",
                               "recv of a stream, which goes on", "write and a read that waits, which pass", "send and a recv that waits"}[kind],
               spans[TIMES / 2], spans[TIMES * 99 / 100]);
    }
}
