// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * mBiaz (Cen, Cosman, Voelker 2003), sender-only: Biaz with a narrower interval of wireless losses.
 */
#include "kernel_side.h"
#include "biaz_hooks.h"

COMMON_PARAMETERS(4);
WIRELESS_PARAMETER;
PARAMETER(bound_quarters, 1, "width of the interval of random losses, quarters of T_min");

BIAZ_HOOKS(LASTHOP_MBIAZ)
NEWRENO_HOOKS

ALGORITHM(mbiaz, "mbiaz", ALL_HOOKS);
