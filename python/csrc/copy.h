// Copies between CPU and device, within a device and across devices.
#pragma once

#include <ATen/core/Tensor.h>

namespace osc
{

// dst = src, shapes broadcast, types cast. Either side may be on the CPU, one must be on a device.
// Conjugate and negative views are resolved.
void copy_into(const at::Tensor &dst, const at::Tensor &src, bool non_blocking);
// A device tensor's values as a new CPU tensor with the same sizes, strides and type.
at::Tensor read_to_cpu(const at::Tensor &src);

} // namespace osc
