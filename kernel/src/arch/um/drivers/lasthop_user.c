// SPDX-License-Identifier: GPL-2.0
/*
 * Opens the library of the links while the kernel reads its command line: on the stack of the
 * process, and before the kernel has taken over memory and signals.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <init.h>
#include <os.h>
#include "lasthop.h"

#define INTERFACE 1

static struct lasthop_library library;
static int loaded;

const struct lasthop_library *lasthop_library(void)
{
	return loaded ? &library : NULL;
}

static void *handle;

static void *find(const char *name)
{
	void *function = dlsym(handle, name);

	if (!function) {
		os_warn("lasthop_link: the library has no %s: it is not of this release\n", name);
		exit(1);
	}
	return function;
}

static int __init lasthop_link_setup(char *path, int *add)
{
	unsigned long long (*interface)(void);

	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		os_warn("lasthop_link: %s\n", dlerror());
		exit(1);
	}
	interface = find("lasthop_link_interface");
	if (interface() != INTERFACE) {
		os_warn("lasthop_link: the library has interface %llu, this kernel has %d\n",
			interface(), INTERFACE);
		exit(1);
	}
	library.new = find("lasthop_link_new");
	library.free = find("lasthop_link_free");
	library.order = find("lasthop_link_order");
	library.packet = find("lasthop_link_packet");
	library.turn = find("lasthop_link_turn");
	library.to_do = find("lasthop_link_to_do");
	library.outgoing = find("lasthop_link_outgoing");
	library.sent = find("lasthop_link_sent");
	library.events = find("lasthop_link_events");
	loaded = 1;
	return 0;
}
__uml_setup("lasthop_link=", lasthop_link_setup,
"lasthop_link=<path>\n"
"    The library with the links behind /dev/lasthop. Without it there is no such device.\n\n"
);
