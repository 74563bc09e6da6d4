/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Receives a file by HTTP: its header undamaged, its body with TCP Lite, and says what was
 * accepted. See tcp_lite(7).
 *
 *   cc -o receive receive.c -I../../crates/tcp-lite/include
 *   lasthop tcp-lite run --on-request -- ./receive 198.51.100.1 8000 /picture.jpg > picture.jpg
 */
#define _GNU_SOURCE /* strcasestr */
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <tcp_lite.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int connected(const char *host, const char *port)
{
	struct addrinfo wanted = { .ai_socktype = SOCK_STREAM }, *found;
	int fd;

	if (getaddrinfo(host, port, &wanted, &found)) {
		fprintf(stderr, "cannot find the host %s\n", host);
		exit(1);
	}
	fd = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
	if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen))
		fail("connect");
	freeaddrinfo(found);
	return fd;
}

/* Reads up to the empty line, one byte at a time, since what follows belongs to the body. */
static size_t read_header(int fd, char *header, size_t room)
{
	size_t len = 0;

	while (len + 1 < room) {
		if (read(fd, header + len, 1) != 1)
			fail("read the response");
		len++;
		header[len] = 0;
		if (len >= 4 && !strcmp(header + len - 4, "\r\n\r\n"))
			return len;
	}
	fprintf(stderr, "the response's header is too long\n");
	exit(1);
}

int main(int argc, char **argv)
{
	char request[1024], header[8192], body[65536], *length;
	struct tcp_lite_window window;
	struct tcp_lite_stats stats;
	socklen_t size = sizeof(stats);
	ssize_t count;
	int fd, on = 1;

	if (argc != 4) {
		fprintf(stderr, "usage: %s HOST PORT PATH\n", argv[0]);
		return 2;
	}
	fd = connected(argv[1], argv[2]);
	count = snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", argv[3], argv[1]);
	if (count >= (ssize_t)sizeof(request) || write(fd, request, count) != count)
		fail("send the request");

	window.from = read_header(fd, header, sizeof(header));
	length = strcasestr(header, "\r\nContent-Length:");
	if (!length) {
		fprintf(stderr, "the response has no Content-Length\n");
		return 1;
	}
	window.length = strtoull(length + strlen("\r\nContent-Length:"), NULL, 10);

	/* The window first, so that nothing outside of it is ever accepted. */
	if (setsockopt(fd, IPPROTO_TCP, TCP_LITE_WINDOW, &window, sizeof(window)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_LITE, &on, sizeof(on)))
		perror("continuing without TCP Lite");
	while ((count = read(fd, body, sizeof(body))) > 0)
		if (write(STDOUT_FILENO, body, count) != count)
			fail("write");
	if (count < 0)
		fail("read the body");
	if (!getsockopt(fd, IPPROTO_TCP, TCP_LITE_STATS, &stats, &size))
		fprintf(stderr, "%llu damaged segments, %llu accepted, %llu of them with intact data\n", (unsigned long long)stats.damaged,
			(unsigned long long)stats.accepted, (unsigned long long)stats.confirmed);
	return 0;
}
