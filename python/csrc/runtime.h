// What every file of the adapter needs from the C runtime: lazy start, errors as exceptions, the
// calling thread's device and stream, and the framework facts that travel with each piece of work.
//
// The thread's state is thread_local and holds plain numbers, so switching device or stream costs a
// store. All functions may be called from any thread.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstdint>

#include "opscope/neuron.h"

namespace osc
{

// Starts the runtime at first use. Throws the documented text in a forked child.
void ensure_started();
// Devices visible to this process, 0 when discovery fails. Starts nothing.
c10::DeviceIndex device_count() noexcept;
// Throws when index names no device; message says the valid range.
void check_device(c10::DeviceIndex index);
// index itself, or the current device for -1. Checked.
c10::DeviceIndex resolve_device(c10::DeviceIndex index);

c10::DeviceIndex current_device() noexcept;
// Unchecked; returns the previous one.
c10::DeviceIndex exchange_device(c10::DeviceIndex index) noexcept;
// The calling thread's stream of a device, 0 = default.
int64_t current_stream(c10::DeviceIndex device) noexcept;
int64_t exchange_stream(c10::DeviceIndex device, int64_t stream);

// Nanoseconds since the epoch.
int64_t now_ns() noexcept;
// Facts for one piece of work. name must outlive the process.
osc_nrt_op facts(const char *name, int64_t enter_ns = 0) noexcept;

// Throws what the failed status means to a PyTorch user; returns on OSC_OK.
[[noreturn]] void raise(osc_status status, const osc_err &err);
inline void check(osc_status status, const osc_err &err)
{
    if (status != OSC_OK) {
        raise(status, err);
    }
}

// An osc_err ready for use, without clearing its 800 bytes of text.
struct Err {
    osc_err value;
    Err()
    {
        value.code = OSC_OK;
        value.offset = OSC_NO_OFFSET;
        value.input[0] = '\0';
        value.message[0] = '\0';
    }
    operator osc_err *()
    {
        return &value;
    }
    operator const osc_err &() const
    {
        return value;
    }
};

// Current device within a scope.
class DeviceScope
{
  public:
    explicit DeviceScope(c10::DeviceIndex index) : previous_(exchange_device(index))
    {
    }
    ~DeviceScope()
    {
        exchange_device(previous_);
    }
    DeviceScope(const DeviceScope &) = delete;
    DeviceScope &operator=(const DeviceScope &) = delete;

  private:
    c10::DeviceIndex previous_;
};

} // namespace osc
