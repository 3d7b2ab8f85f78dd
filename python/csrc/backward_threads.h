// backward_threads.h - lets autograd's threads come to rest before the interpreter ends.
//
// PyTorch runs the backward of each device on a thread of its own. When a backward is done the caller goes
// on while that thread still drops its last node, which may own Python objects; if the interpreter ends in
// between, taking its lock ends the thread by unwinding through C++ and the process aborts. The wait below
// is one tiny backward per device that had one: a device's thread takes them in order.
#pragma once

#include <c10/core/Device.h>

namespace osc
{

// Called whenever a thread selects a device; remembers autograd's own threads. Any thread.
void note_thread_device(c10::DeviceIndex device) noexcept;
// Called for each piece of work. Any thread.
void note_work() noexcept;
// Waits until devices' autograd threads have let go of everything queued so far. The interpreter's lock
// must not be held. Never throws.
void settle_backward_threads() noexcept;

} // namespace osc
