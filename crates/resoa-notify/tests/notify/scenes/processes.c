// Sockets shared by several processes.
#include "scenes.h"

// A socket survives fork and exec, and is recognised under any number.
void forks(void) {
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

void inherited(void) {
    struct sockaddr_in got;
    socklen_t length = sizeof got;
    CHECK(getpeername(77, (void *)&got, &length) == 0 && got.sin_port == htons(7));
    echoed(77, "after exec");
}

// Leaves a child behind that still has a socket, and ends first.
void leaves(void) {
    int fd = connected(7);
    if (fork() == 0) {
        usleep(200000);
        echoed(fd, "still there");
        CHECK(creat("left", 0600) >= 0);
        exit(0);
    }
    exit(3);
}
