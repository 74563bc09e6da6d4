// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * NewZag, version 1 (Lien 2009 section 5.2.1): the fewer segments were lost, the shorter the
 * round-trip time must be for a wireless loss.
 */
#include "kernel_side.h"
#include "zigzag.h"

COMMON_PARAMETERS(4);
WIRELESS_PARAMETER;

DETECTOR_HOOKS(LASTHOP_NEWZAG_V1, zigzag_judged(own))
SAMPLING_HOOK
NEWRENO_HOOKS

ALGORITHM(newzag_v1, "newzag_v1", ALL_HOOKS);
