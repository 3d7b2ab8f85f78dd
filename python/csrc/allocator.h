// Device memory behind PyTorch storages.
#pragma once

#include <c10/core/Allocator.h>

namespace osc
{

// The allocator of device type PrivateUse1: allocates on the calling thread's current device and
// stream. Lives for the whole process.
c10::Allocator *allocator();

} // namespace osc
