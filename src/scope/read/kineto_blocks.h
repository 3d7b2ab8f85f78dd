/* kineto_blocks.h - the events of a list, on one thread or on several, with the same result. */
#ifndef OSC_READ_KINETO_BLOCKS_H
#define OSC_READ_KINETO_BLOCKS_H

#include "scope/read/kineto_internal.h"

/* Takes the events of a list whose '[' was taken, to its end or the input's. */
osc_kineto_step osc_kineto_take_blocks(osc_kineto *k);

#endif
