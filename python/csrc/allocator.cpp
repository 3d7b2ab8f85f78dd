// c10::DeviceAllocator over the runtime's stream-ordered memory.
//
// Pools, statistics and the out-of-memory error live in the C runtime; this file only translates.
// A freed block may be handed out at once because every device runs its work in submission order,
// whatever the stream: recordStream therefore has nothing to defer. Device addresses fault when the
// host touches them, so copy_data goes through a device copy.
#include "allocator.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "runtime.h"

namespace osc
{
namespace
{

// Sizes of blocks handed out while a memory profiler watched; frees need them for its report.
class Watched
{
  public:
    void add(void *address, size_t bytes)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        bytes_[address] = bytes;
        count_.store(bytes_.size(), std::memory_order_relaxed);
    }
    size_t take(void *address)
    {
        if (count_.load(std::memory_order_relaxed) == 0) {
            return 0;
        }
        std::lock_guard<std::mutex> guard(mutex_);
        const auto found = bytes_.find(address);
        if (found == bytes_.end()) {
            return 0;
        }
        const size_t bytes = found->second;
        bytes_.erase(found);
        count_.store(bytes_.size(), std::memory_order_relaxed);
        return bytes;
    }

  private:
    std::mutex mutex_; // guards bytes_; a leaf lock
    std::unordered_map<void *, size_t> bytes_;
    std::atomic<size_t> count_{0};
};

Watched &watched()
{
    static auto *table = new Watched; // leaked: tensors are freed during interpreter exit too
    return *table;
}

osc_nrt_memory stats_of(c10::DeviceIndex device)
{
    ensure_started();
    osc_nrt_memory stats{};
    stats.size = sizeof stats;
    Err err;
    check(osc_nrt_memory_stats(resolve_device(device), &stats, err), err);
    return stats;
}

void report(void *address, int64_t bytes, c10::DeviceIndex device)
{
    const osc_nrt_memory stats = stats_of(device);
    c10::reportMemoryUsageToProfiler(address, bytes, stats.allocated, stats.reserved,
                                     c10::Device(c10::DeviceType::PrivateUse1, device));
}

void release(void *address)
{
    const size_t bytes = watched().take(address);
    if (bytes != 0 && c10::memoryProfilingEnabled()) {
        const auto device = static_cast<c10::DeviceIndex>(osc_nrt_device_of(address));
        osc_nrt_free(address);
        report(address, -static_cast<int64_t>(bytes), device);
        return;
    }
    osc_nrt_free(address);
}

c10::CachingAllocator::Stat stat(uint64_t current, uint64_t peak, uint64_t added, uint64_t removed)
{
    c10::CachingAllocator::Stat s;
    s.current = static_cast<int64_t>(current);
    s.peak = static_cast<int64_t>(peak);
    s.allocated = static_cast<int64_t>(added);
    s.freed = static_cast<int64_t>(removed);
    return s;
}

class NeuronAllocator final : public c10::DeviceAllocator
{
  public:
    c10::DataPtr allocate(size_t bytes) override
    {
        ensure_started();
        const c10::DeviceIndex device = current_device();
        void *address = nullptr;
        Err err;
        check(osc_nrt_alloc(device, current_stream(device), bytes, &address, err), err);
        if (C10_UNLIKELY(c10::memoryProfilingEnabled()) && address) {
            watched().add(address, bytes);
            report(address, static_cast<int64_t>(bytes), device);
        }
        return {address, address, &release, c10::Device(c10::DeviceType::PrivateUse1, device)};
    }
    c10::DeleterFnPtr raw_deleter() const override
    {
        return &release;
    }
    void copy_data(void *dst, const void *src, std::size_t bytes) const override
    {
        const c10::DeviceIndex device = current_device();
        const osc_nrt_op op = facts("neuron::copy::neuron_to_neuron");
        Err err;
        check(osc_nrt_copy(device, current_stream(device), dst, src, bytes, &op, err), err);
    }

    bool initialized() override
    {
        return osc_nrt_is_initialized();
    }
    void emptyCache(c10::MempoolId_t) override
    {
        osc_nrt_empty_cache();
    }
    void recordStream(const c10::DataPtr &, c10::Stream) override
    {
    }
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override
    {
        const osc_nrt_memory m = stats_of(device);
        c10::CachingDeviceAllocator::DeviceStats s;
        const size_t all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
        s.allocated_bytes[all] =
            stat(m.allocated, m.peak_allocated, m.total_allocated_bytes, m.total_freed_bytes);
        s.active_bytes[all] = s.allocated_bytes[all];
        s.requested_bytes[all] = s.allocated_bytes[all];
        s.reserved_bytes[all] = stat(m.reserved, m.peak_reserved, 0, 0);
        s.allocation[all] = stat(m.alloc_count - m.free_count, 0, m.alloc_count, m.free_count);
        s.num_ooms = static_cast<int64_t>(m.oom_count);
        return s;
    }
    void resetAccumulatedStats(c10::DeviceIndex device) override
    {
        ensure_started();
        osc_nrt_memory_reset_totals(resolve_device(device));
    }
    void resetPeakStats(c10::DeviceIndex device) override
    {
        ensure_started();
        osc_nrt_memory_reset_peak(resolve_device(device));
    }
    std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override
    {
        const osc_nrt_memory m = stats_of(device);
        return {m.capacity - m.allocated, m.capacity};
    }
};

} // namespace

c10::Allocator *allocator()
{
    static auto *instance = new NeuronAllocator; // leaked on purpose, see watched()
    return instance;
}

namespace
{
c10::AllocatorRegisterer<c10::DeviceType::PrivateUse1> registration(allocator());
}

} // namespace osc
