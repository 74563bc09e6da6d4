// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Biaz (Biaz and Vaidya 1999), sender-only: after a wireless loss, the next segments arrive at the
 * time at which they would have arrived without it.
 */
#include "kernel_side.h"
#include "biaz_hooks.h"

COMMON_PARAMETERS(4);
WIRELESS_PARAMETER;
PARAMETER(bound_quarters, 4, "width of the interval of random losses, quarters of T_min");

BIAZ_HOOKS(LASTHOP_BIAZ)
NEWRENO_HOOKS

ALGORITHM(biaz, "biaz", ALL_HOOKS);
