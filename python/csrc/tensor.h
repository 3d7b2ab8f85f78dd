// Tensors on the device: making them and describing them to the C runtime.
#pragma once

#include <ATen/core/Tensor.h>

#include "opscope/neuron.h"

namespace osc
{

inline bool on_device(const at::TensorBase &t)
{
    return t.device().type() == c10::DeviceType::PrivateUse1;
}
// An element type the engines compute with; 64-bit and complex types only move.
bool computes(at::ScalarType type);
// Element type for the C runtime, OSC_DTYPE_NONE when it has none (complex, float8, ...).
osc_dtype dtype_of(at::ScalarType type);
// Element type of the same width, for operators that only move bytes.
osc_dtype move_dtype_of(at::ScalarType type);

// Uninitialised tensors. device -1: current.
at::Tensor make_empty(at::IntArrayRef size, at::ScalarType type, c10::DeviceIndex device,
                      std::optional<at::MemoryFormat> format = std::nullopt);
at::Tensor make_strided(at::IntArrayRef size, at::IntArrayRef stride, at::ScalarType type,
                        c10::DeviceIndex device);

// Descriptor of a defined device tensor; points into the tensor, which must outlive it.
osc_nrt_tensor describe(const at::TensorBase &t, osc_dtype dtype);

} // namespace osc
