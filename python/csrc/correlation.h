// The framework correlation id of the operator that the calling thread is inside of.
//
// Kineto pushes an id around every recorded operator on the thread that runs it. Work handed to
// the runtime carries the id on top of that thread's stack, so a device interval can be linked to
// its operator. The stack is per thread: the profiler session pushes and pops, launches only read.
#pragma once

#include <cstdint>

void osc_push_correlation(uint64_t id);
void osc_pop_correlation();
// Top of the calling thread's stack, 0 when no profiler records this thread.
uint64_t osc_current_correlation();
