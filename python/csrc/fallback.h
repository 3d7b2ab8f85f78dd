// The counted way to the CPU for operators without a device kernel.
#pragma once

#include <ATen/native/CPUFallback.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace osc
{

// Boxed: counts the operator, then at::native::cpu_fallback (copy to CPU, run, copy back).
void counted_fallback(const c10::OperatorHandle &op, torch::jit::Stack *stack);
// Counts one fallback of a kernel that goes to the CPU by itself. name: "aten::foo".
void count_fallback(const std::string &name);
// Names with counts since start or clear, sorted. Any thread.
std::vector<std::pair<std::string, uint64_t>> fallback_counts();
void clear_fallbacks();

// Typed entry for operator class Op (at::_ops::...), symbolic sizes as plain integers.
template <class Op> using Fallback = at::native::call_fallback_fn<&counted_fallback, Op>;

} // namespace osc
