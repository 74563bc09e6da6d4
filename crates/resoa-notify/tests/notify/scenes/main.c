// Runs one scene under the filter, by its name. Exits with 0 if all checks hold, and prints the
// first failed check otherwise.
#include "scenes.h"

struct sockaddr_in at(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);
    return address;
}

int stream(void) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0);
    return fd;
}

int connected(int port) {
    int fd = stream();
    struct sockaddr_in there = at(port);
    CHECK(connect(fd, (void *)&there, sizeof there) == 0);
    return fd;
}

int listening(void) {
    int fd = stream();
    CHECK(listen(fd, 1) == 0);
    return fd;
}

void echoed(int fd, const char *text) {
    char got[64];
    CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    CHECK(read(fd, got, sizeof got) == (ssize_t)strlen(text) && memcmp(got, text, strlen(text)) == 0);
}

#define SCENE(name) {#name, name}

int main(int count, char **arguments) {
    const struct {
        const char *name;
        void (*play)(void);
    } scenes[] = {
        SCENE(filter),
        SCENE(ways),
        SCENE(foreign),
        SCENE(privileged),
        SCENE(client),
        SCENE(lingers),
        SCENE(addressed),
        SCENE(broken),
        SCENE(reset),
        SCENE(lost),
        SCENE(unconnected),
        SCENE(beside),
        SCENE(datagrams),
        SCENE(destined),
        SCENE(refused),
        SCENE(accepts),
        SCENE(meanwhile),
        SCENE(interrupts),
        SCENE(stopped),
        SCENE(signalled),
        SCENE(stuck),
        SCENE(forks),
        SCENE(inherited),
        SCENE(leaves),
        SCENE(cost),
    };
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        if (count == 2 && strcmp(arguments[1], scenes[i].name) == 0) {
            scenes[i].play();
            return 0;
        }
    printf("no such scene\n");
    return 2;
}
