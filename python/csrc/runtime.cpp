// runtime.cpp - current device and stream per thread, and errors of the C runtime as exceptions.
#include "runtime.h"

#include <c10/util/Exception.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>

#include "backward_threads.h"
#include "correlation.h"

namespace osc
{
namespace
{

constexpr int max_devices = 128; // torchneuron-face.md 7: more are rejected

thread_local c10::DeviceIndex tls_device = 0;
thread_local std::array<int64_t, max_devices> tls_streams{};
thread_local int64_t tls_thread = 0;
std::atomic<bool> started{false};

int64_t thread_id() noexcept
{
    if (tls_thread == 0) {
        tls_thread = static_cast<int64_t>(syscall(SYS_gettid));
    }
    return tls_thread;
}

c10::DeviceIndex discover() noexcept
{
    osc_nrt_info info{};
    info.size = sizeof info;
    Err err;
    if (osc_nrt_get_info(&info, err) != OSC_OK || info.device_count > max_devices) {
        return 0;
    }
    return static_cast<c10::DeviceIndex>(info.device_count);
}

} // namespace

void ensure_started()
{
    if (started.load(std::memory_order_acquire)) {
        return;
    }
    Err err;
    check(osc_nrt_init(err), err);
    started.store(true, std::memory_order_release);
}

c10::DeviceIndex device_count() noexcept
{
    static const c10::DeviceIndex count = discover();
    return count;
}

void check_device(c10::DeviceIndex index)
{
    const int count = device_count();
    TORCH_CHECK(index >= 0 && index < count, "Invalid device id: ", static_cast<int>(index),
                ". Valid range is 0 to ", count - 1);
}

c10::DeviceIndex resolve_device(c10::DeviceIndex index)
{
    if (index < 0) {
        return tls_device;
    }
    check_device(index);
    return index;
}

c10::DeviceIndex current_device() noexcept
{
    return tls_device;
}

c10::DeviceIndex exchange_device(c10::DeviceIndex index) noexcept
{
    const c10::DeviceIndex previous = tls_device;
    tls_device = index;
    return previous;
}

int64_t current_stream(c10::DeviceIndex device) noexcept
{
    return tls_streams[static_cast<size_t>(device)];
}

int64_t exchange_stream(c10::DeviceIndex device, int64_t stream)
{
    check_device(device);
    int64_t &slot = tls_streams[static_cast<size_t>(device)];
    const int64_t previous = slot;
    slot = stream;
    return previous;
}

int64_t now_ns() noexcept
{
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return static_cast<int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

osc_nrt_op facts(const char *name, int64_t enter_ns) noexcept
{
    note_work();
    osc_nrt_op op;
    op.size = sizeof op;
    op.name = name;
    op.correlation = osc_current_correlation();
    op.thread_id = thread_id();
    op.enter_ns = enter_ns;
    return op;
}

void raise(osc_status status, const osc_err &err)
{
    const std::string text = err.message[0] ? err.message : osc_status_name(status);
    if (status == OSC_EDEVMEM) {
        C10_THROW_ERROR(OutOfMemoryError, "neuron out of memory: " + text);
    }
    C10_THROW_ERROR(Error, text);
}

} // namespace osc
