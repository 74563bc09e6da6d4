// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * ZigZag (Cen, Cosman, Voelker 2003), sender-only: round-trip times replace relative one-way trip
 * times.
 */
#include "kernel_side.h"
#include "zigzag.h"

COMMON_PARAMETERS(5);
WIRELESS_PARAMETER;

DETECTOR_HOOKS(LASTHOP_ZIGZAG, zigzag_judged(own))
SAMPLING_HOOK
NEWRENO_HOOKS

ALGORITHM(zigzag, "zigzag", ALL_HOOKS);
