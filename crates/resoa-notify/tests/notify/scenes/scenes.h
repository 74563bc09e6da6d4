// Declarations shared by the scenes. Each scene runs under the filter and exits with 0 if all
// checks hold.
#ifndef SCENES_H
#define SCENES_H
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
#include <sys/resource.h>
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
            printf("%s:%d: %s (errno %d, %s)\n", __FILE__, __LINE__, #what, errno, strerror(errno)); \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)
#define FAILS(call, error) CHECK((call) == -1 && errno == (error))

// Far hosts have the address 192.0.2.1; `agent.rs` defines the ports.
struct sockaddr_in at(int port);
int stream(void);
int connected(int port);
int listening(void);
// Sends text to the far host, and checks its echo.
void echoed(int fd, const char *text);

void filter(void);
void ways(void);
void foreign(void);
void privileged(void);
void client(void);
void lingers(void);
void addressed(void);
void broken(void);
void reset(void);
void lost(void);
void unconnected(void);
void beside(void);
void datagrams(void);
void destined(void);
void refused(void);
void accepts(void);
void meanwhile(void);
void interrupts(void);
void stopped(void);
void signalled(void);
void stuck(void);
void forks(void);
void inherited(void);
void leaves(void);
void cost(void);

#endif
