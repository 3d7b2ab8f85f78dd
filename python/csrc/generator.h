// Random state of the device: a CPU generator behind a PrivateUse1 face.
#pragma once

#include <ATen/core/Generator.h>

namespace osc
{

// Default generator of a device (-1: current). Lives for the whole process.
const at::Generator &default_generator(c10::DeviceIndex device);
// A new one, seeded like a new torch.Generator().
at::Generator new_generator(c10::DeviceIndex device);
// The CPU generator that produces the values: of `given`, or of the device's default one. Throws
// PyTorch's own text when `given` belongs to another device type.
at::Generator value_generator(const std::optional<at::Generator> &given, c10::DeviceIndex device);

} // namespace osc
