// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * NewZag, version 2 (Lien 2009 section 5.3.3): losses while the round-trip time is below its mean
 * are wireless.
 */
#include "kernel_side.h"
#include "zigzag.h"

COMMON_PARAMETERS(4);
WIRELESS_PARAMETER;

DETECTOR_HOOKS(LASTHOP_NEWZAG, newzag_judged(own))
SAMPLING_HOOK
NEWRENO_HOOKS

ALGORITHM(newzag, "newzag", ALL_HOOKS);
