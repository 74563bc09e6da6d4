/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Includes what an algorithm is built for: eBPF on a running kernel, a kernel tree, or tests. All
 * three define the same names, which hooks.h uses.
 */
#ifndef LASTHOP_KERNEL_SIDE_H
#define LASTHOP_KERNEL_SIDE_H

#ifdef __bpf__
#include "host.h"
#elif defined(LASTHOP_USER_SIDE)
#include "user.h"
#else
#include "tree.h"
#endif

#include "hooks.h"

#endif
