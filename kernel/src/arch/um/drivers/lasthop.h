/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The library of the links (crate guest-link), as the driver calls it. Without headers of the
 * kernel, because lasthop_user.c is compiled against those of the host.
 */
#ifndef LASTHOP_H
#define LASTHOP_H

struct lasthop_rust;

struct lasthop_to_do {
	unsigned long long due, outgoing, readable;
};

struct lasthop_leaving {
	unsigned long long port;
	const unsigned char *bytes;
	unsigned long long length;
};

struct lasthop_library {
	struct lasthop_rust *(*new)(void);
	void (*free)(struct lasthop_rust *its);
	void (*order)(struct lasthop_rust *its, unsigned long long now, const void *bytes,
		      unsigned long long length);
	void (*packet)(struct lasthop_rust *its, unsigned int port, unsigned long long now,
		       const void *bytes, unsigned long long length);
	void (*turn)(struct lasthop_rust *its, unsigned long long now);
	struct lasthop_to_do (*to_do)(struct lasthop_rust *its);
	struct lasthop_leaving (*outgoing)(struct lasthop_rust *its, unsigned long long place);
	void (*sent)(struct lasthop_rust *its, unsigned long long refused, int why);
	const void *(*events)(struct lasthop_rust *its, unsigned long long *length);
};

/* Null without a library. */
const struct lasthop_library *lasthop_library(void);

#endif
