/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * An algorithm in a kernel's tree (net/ipv4/lasthop/): registered when the kernel boots. Parameters
 * are set on the kernel's command line (newzag.gain=5) or in /sys/module.
 */
#ifndef LASTHOP_TREE_H
#define LASTHOP_TREE_H

#include <linux/module.h>
#include <net/tcp.h>
#include "state.h"

#define HOOK(type, name, args...) static type name(args)

#define PARAMETER(name, value, meaning)                                                                                         \
	static unsigned int name = value;                                                                                        \
	module_param(name, uint, 0644);                                                                                          \
	MODULE_PARM_DESC(name, meaning)

#define ALGORITHM(symbol, its_name, hooks...)                                                                                   \
	static struct tcp_congestion_ops symbol __read_mostly = {                                                                \
		.flags = TCP_CONG_NON_RESTRICTED, .name = its_name, .owner = THIS_MODULE, hooks                                  \
	};                                                                                                                       \
	static int __init symbol##_register(void)                                                                                \
	{                                                                                                                        \
		BUILD_BUG_ON(sizeof(struct lasthop_words) > ICSK_CA_PRIV_SIZE);                                                  \
		return tcp_register_congestion_control(&symbol);                                                                 \
	}                                                                                                                        \
	late_initcall(symbol##_register);                                                                                        \
	MODULE_LICENSE("Dual MIT/GPL")

/* The kernel's own algorithm is built in too, so ours needs another name. */
#define BESIDE_KERNELS(name) "lh-" name

#define IS_COMPLETE_CWR(event) ((event) == CA_EVENT_COMPLETE_CWR)

static __always_inline struct lasthop_words *own_words(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

static __always_inline int was_window_limited(const struct tcp_sock *tp)
{
	return tp->is_cwnd_limited;
}

#endif
