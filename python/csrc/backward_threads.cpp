// backward_threads.cpp - which devices ran a backward, and the wait for their threads.
#include "backward_threads.h"

#include <ATen/ATen.h>
#include <pthread.h>

#include <atomic>
#include <cstring>

namespace osc
{
namespace
{

constexpr int max_tracked = 64; // bits; further devices are not waited for

thread_local int tls_backward_device = -1; // of an autograd thread, else -1
std::atomic<uint64_t> devices_with_backward{0};

// The name that the engine gives its threads before they select their device.
bool is_autograd_thread() noexcept
{
    char name[16] = "";
    return pthread_getname_np(pthread_self(), name, sizeof name) == 0 &&
           std::strncmp(name, "pt_autograd", 11) == 0;
}

void run_tiny_backward(int device)
{
    const auto options = at::TensorOptions(
        c10::Device(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(device)));
    at::Tensor x = at::ones({1}, options);
    x.set_requires_grad(true);
    at::mul(x, x).backward(at::ones({1}, options));
}

} // namespace

void note_thread_device(c10::DeviceIndex device) noexcept
{
    if (device >= 0 && device < max_tracked && is_autograd_thread())
        tls_backward_device = device;
}

void note_work() noexcept
{
    if (tls_backward_device >= 0)
        devices_with_backward.fetch_or(uint64_t{1} << tls_backward_device,
                                       std::memory_order_relaxed);
}

void settle_backward_threads() noexcept
{
    const uint64_t devices = devices_with_backward.exchange(0);
    for (int device = 0; device < max_tracked; device++) {
        if ((devices >> device & 1) == 0)
            continue;
        try {
            run_tiny_backward(device);
        } catch (const std::exception &) {
            // The runtime refuses work, say after a fork; then there is no thread to wait for either.
            return;
        }
    }
}

} // namespace osc
