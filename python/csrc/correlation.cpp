// correlation.cpp - the stack of correlation ids that Kineto pushes, one per thread.
#include "correlation.h"

#include <vector>

namespace
{
thread_local std::vector<uint64_t> stack;
}

void osc_push_correlation(uint64_t id)
{
    stack.push_back(id);
}

// A profiler may start inside an operator: its first pop then has no push.
void osc_pop_correlation()
{
    if (!stack.empty()) {
        stack.pop_back();
    }
}

uint64_t osc_current_correlation()
{
    return stack.empty() ? 0 : stack.back();
}
