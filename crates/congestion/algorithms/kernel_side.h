/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Where an algorithm is built for: eBPF on a running kernel, into a kernel, or for tests. All give
 * the same names; hooks.h is above them.
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
