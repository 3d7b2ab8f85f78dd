// DeviceGuardImplInterface for neuron: the door through which PyTorch switches devices and streams
// and handles events. Everything here is a translation to one call of the C runtime.
//
// A c10::Stream id is the runtime's stream number; an event is a heap osc_nrt_event. The registered
// object is never destroyed, as PyTorch requires.
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/DeviceCapability.h>

#include "backward_threads.h"
#include "runtime.h"

namespace osc
{
namespace
{

using c10::Device;
using c10::DeviceIndex;
using c10::DeviceType;
using c10::Stream;

osc_nrt_event *as_event(void *event)
{
    return static_cast<osc_nrt_event *>(event);
}

Stream make_stream(DeviceIndex device, int64_t id)
{
    return Stream(Stream::UNSAFE, Device(DeviceType::PrivateUse1, device), id);
}

struct NeuronGuard final : c10::impl::DeviceGuardImplInterface {
    DeviceType type() const override
    {
        return DeviceType::PrivateUse1;
    }

    Device exchangeDevice(Device d) const override
    {
        check_device(d.index());
        return Device(DeviceType::PrivateUse1, exchange_device(d.index()));
    }
    Device getDevice() const override
    {
        return Device(DeviceType::PrivateUse1, current_device());
    }
    void setDevice(Device d) const override
    {
        check_device(d.index());
        exchange_device(d.index());
        note_thread_device(d.index());
    }
    void uncheckedSetDevice(Device d) const noexcept override
    {
        exchange_device(d.index());
    }
    DeviceIndex deviceCount() const noexcept override
    {
        return device_count();
    }
    c10::DeviceCapability getDeviceCapability(Device) const override
    {
        return {};
    }

    Stream getStream(Device d) const override
    {
        const DeviceIndex index = resolve_device(d.index());
        return make_stream(index, current_stream(index));
    }
    Stream getDefaultStream(Device d) const override
    {
        return make_stream(resolve_device(d.index()), 0);
    }
    Stream getNewStream(Device d, int priority) const override
    {
        ensure_started();
        const DeviceIndex index = resolve_device(d.index());
        int64_t id = 0;
        Err err;
        check(osc_nrt_stream_create(index, priority, &id, err), err);
        return make_stream(index, id);
    }
    Stream getStreamFromGlobalPool(Device d, bool high_priority) const override
    {
        return getNewStream(d, high_priority ? -1 : 0);
    }
    Stream exchangeStream(Stream s) const override
    {
        return make_stream(s.device_index(), exchange_stream(s.device_index(), s.id()));
    }
    bool queryStream(const Stream &s) const override
    {
        return !osc_nrt_is_initialized() || osc_nrt_stream_query(s.device_index(), s.id());
    }
    void synchronizeStream(const Stream &s) const override
    {
        ensure_started();
        Err err;
        check(osc_nrt_stream_synchronize(s.device_index(), s.id(), err), err);
    }
    void synchronizeDevice(const DeviceIndex index) const override
    {
        ensure_started();
        Err err;
        check(osc_nrt_synchronize(resolve_device(index), err), err);
    }

    void record(void **event, const Stream &s, const DeviceIndex index,
                const c10::EventFlag) const override
    {
        TORCH_CHECK(index == -1 || index == s.device_index(), "Event device index ",
                    static_cast<int>(index), " does not match recording stream's device index ",
                    static_cast<int>(s.device_index()), ".");
        ensure_started();
        Err err;
        if (!*event) {
            osc_nrt_event *made = nullptr;
            check(osc_nrt_event_create(&made, err), err);
            *event = made;
        }
        check(osc_nrt_event_record(as_event(*event), s.device_index(), s.id(), err), err);
    }
    void block(void *event, const Stream &s) const override
    {
        if (!event) {
            return;
        }
        Err err;
        check(osc_nrt_event_wait(as_event(event), s.device_index(), s.id(), err), err);
    }
    bool queryEvent(void *event) const override
    {
        return !event || osc_nrt_event_query(as_event(event));
    }
    void synchronizeEvent(void *event) const override
    {
        if (!event) {
            return;
        }
        Err err;
        check(osc_nrt_event_synchronize(as_event(event), err), err);
    }
    void destroyEvent(void *event, const DeviceIndex) const noexcept override
    {
        osc_nrt_event_destroy(as_event(event));
    }
    double elapsedTime(void *start, void *end, const DeviceIndex) const override
    {
        TORCH_CHECK(start && end, "Both events must be recorded before calculating elapsed time.");
        int64_t ns = 0;
        Err err;
        check(osc_nrt_event_elapsed(as_event(start), as_event(end), &ns, err), err);
        return static_cast<double>(ns) / 1e6;
    }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, NeuronGuard)

} // namespace
} // namespace osc
