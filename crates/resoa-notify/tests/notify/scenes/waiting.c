// Calls that wait: what ends the wait, calls of other threads meanwhile, and signals.
#include "scenes.h"

void accepts(void) {
    int fd = listening();
    struct sockaddr_in peer;
    socklen_t length = sizeof peer;
    FAILS(accept4(fd, NULL, NULL, 1), EINVAL);
    CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    FAILS(accept(fd, NULL, NULL), EAGAIN);
    CHECK(fcntl(fd, F_SETFL, 0) == 0);
    // Without a free number, accept fails at once and takes no connection. A number above the limit
    // does not count.
    struct rlimit before, limit = {fd + 1, 0};
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0 && dup2(fd, fd + 5) == fd + 5);
    limit.rlim_max = before.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    FAILS(accept(fd, NULL, NULL), EMFILE);
    limit.rlim_cur++;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    int child = accept4(fd, (void *)&peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    CHECK(child == fd + 1 && length == 16 && peer.sin_port == htons(4242));
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0 && close(fd + 5) == 0);
    CHECK(fcntl(child, F_GETFD) == FD_CLOEXEC && fcntl(child, F_GETFL) == (O_RDWR | O_NONBLOCK));
    char got[8];
    CHECK(read(child, got, 8) == 5);
    struct timeval tv = {0, 30000};
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv) == 0);
    FAILS(accept(fd, NULL, NULL), EAGAIN);
    // A connection inherits these options from its listener.
    fd = stream();
    tv.tv_usec = 500000;
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv) == 0 && listen(fd, 1) == 0);
    child = accept(fd, NULL, NULL);
    CHECK(child >= 0 && read(child, got, 8) == 5);
    FAILS(read(child, got, 8), EAGAIN);
}

static void *accepting(void *listener) {
    return (void *)(long)accept(*(int *)listener, NULL, NULL);
}

// A thread waits in accept while another one works; then a connection arrives.
void meanwhile(void) {
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
    // Twenty threads that wait forever do not delay others.
    pthread_t waiting[20];
    for (int i = 0; i < 20; i++) CHECK(pthread_create(&waiting[i], NULL, accepting, &fd) == 0);
    usleep(50000);
    for (int i = 0; i < 200; i++) {
        int other = connected(7);
        echoed(other, "meanwhile");
        close(other);
    }
}

static void nothing(int signal) { (void)signal; }

static void handled(int flags) {
    struct sigaction action = {.sa_handler = nothing, .sa_flags = flags};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    ualarm(30000, 0);
}

// Section 3.14: handlers interrupt waiting calls, or the calls are restarted.
void interrupts(void) {
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

// A stop restarts the call.
void stopped(void) {
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

// Frequent signals, as in Go programs, do not make a call start twice.
void signalled(void) {
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

// Waits in connect forever; the test kills it.
void stuck(void) {
    struct sockaddr_in never = at(19);
    connect(stream(), (void *)&never, sizeof never);
}
