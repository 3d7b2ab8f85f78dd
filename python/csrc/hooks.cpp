// PrivateUse1HooksInterface: what generic PyTorch code (torch.accelerator, Generator, pin_memory,
// storage resize) asks of the backend. Registered once, leaked on purpose.
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CPUAllocator.h>

#include "allocator.h"
#include "generator.h"
#include "runtime.h"

namespace osc
{
namespace
{

struct NeuronHooks final : at::PrivateUse1HooksInterface {
    bool isBuilt() const override
    {
        return true;
    }
    bool isAvailable() const override
    {
        return device_count() > 0;
    }
    bool hasPrimaryContext(c10::DeviceIndex) const override
    {
        return osc_nrt_is_initialized();
    }
    void init() const override
    {
        ensure_started();
    }
    c10::DeviceIndex deviceCount() const override
    {
        return device_count();
    }
    void setCurrentDevice(c10::DeviceIndex device) const override
    {
        check_device(device);
        exchange_device(device);
    }
    c10::DeviceIndex getCurrentDevice() const override
    {
        return current_device();
    }
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override
    {
        check_device(device);
        return exchange_device(device);
    }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override
    {
        return device < 0 ? current_device() : exchangeDevice(device);
    }

    const at::Generator &getDefaultGenerator(c10::DeviceIndex device) const override
    {
        return default_generator(device);
    }
    at::Generator getNewGenerator(c10::DeviceIndex device) const override
    {
        return new_generator(device);
    }
    at::Device getDeviceFromPtr(void *data) const override
    {
        const int32_t device = osc_nrt_device_of(data);
        TORCH_CHECK(device >= 0, "pointer ", data, " is not neuron device memory");
        return {c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(device)};
    }
    // Host memory needs no pinning to reach the virtual device: pin_memory() copies into ordinary
    // memory, and no pointer counts as pinned.
    at::Allocator *getPinnedMemoryAllocator() const override
    {
        return c10::GetCPUAllocator();
    }

    void resizePrivateUse1Bytes(const c10::Storage &storage, size_t bytes) const override
    {
        const DeviceScope scope(storage.device().index());
        c10::DataPtr grown = allocator()->allocate(bytes);
        const size_t kept = std::min(bytes, storage.nbytes());
        if (kept != 0) {
            allocator()->copy_data(grown.mutable_get(), storage.data(), kept);
        }
        storage.set_data_ptr_noswap(std::move(grown));
        storage.set_nbytes(bytes);
    }
};

const bool registered = [] {
    at::RegisterPrivateUse1HooksInterface(new NeuronHooks);
    return true;
}();

} // namespace
} // namespace osc
