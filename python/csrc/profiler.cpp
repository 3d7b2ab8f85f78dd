// profiler.cpp - the Kineto session: starts a capture with the profile, hands its records to Kineto.
//
// A profile with ProfilerActivity.PrivateUse1 gets a session; a CPU-only one gets none, so that it
// starts no capture (torchneuron-face.md 2.1, defects to avoid). Per piece of captured work the session
// emits a PRIVATEUSE1_RUNTIME activity on the calling thread and, with correlate_device_time, a
// CONCURRENT_KERNEL or GPU_MEMCPY activity linked to the operator. Names differ from the operator's on
// purpose: an activity of CPU type with the operator's name would count as another call of it
// (pytorch-adapter.md 3.2). The driver lane is not Kineto's business; the exporter adds it to trace.json.
#include "profiler.h"

#include <libkineto.h>
#include <output_base.h>
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>
#include <torch/csrc/profiler/stubs/base.h>

#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <unordered_map>
#include <utility>

#include <Config.h>

#include "correlation.h"
#include "profiler_config.h"

namespace
{

using libkineto::ActivityType;
using libkineto::GenericTraceActivity;

// Flow ids are unique per type and 32 bit; Kineto's own correlation numbers start at 1.
constexpr uint32_t first_flow_id = 1u << 28;

std::mutex state_mutex; // guards the two below
std::shared_ptr<const FinishedCapture> newest;
std::string facts;
std::atomic<int> sessions_recording{0};

const char *runtime_call_name(uint32_t kind)
{
    switch (kind) {
    case OSC_CAPTURE_WRITE: return "nrta_tensor_write";
    case OSC_CAPTURE_READ: return "nrta_tensor_read";
    case OSC_CAPTURE_COPY:
    case OSC_CAPTURE_FILL: return "nrta_tensor_copy";
    default: return "nrta_execute_schedule";
    }
}

std::string device_activity_name(const osc_capture_op &op)
{
    switch (op.kind) {
    case OSC_CAPTURE_WRITE: return "dmem_buf_copyin (host to device)";
    case OSC_CAPTURE_READ: return "dmem_buf_copyout (device to host)";
    case OSC_CAPTURE_COPY: return "dmem_buf_copy (device to device)";
    case OSC_CAPTURE_FILL: return "dmem_buf_fill";
    default: return std::string("nc ") + op.name;
    }
}

ActivityType device_activity_type(uint32_t kind)
{
    if (kind == OSC_CAPTURE_EXEC)
        return ActivityType::CONCURRENT_KERNEL;
    return kind == OSC_CAPTURE_FILL ? ActivityType::GPU_MEMSET : ActivityType::GPU_MEMCPY;
}

class Session final : public libkineto::IActivityProfilerSession
{
  public:
    explicit Session(ProfilerConfig config) : config_(std::move(config))
    {
    }
    ~Session() override
    {
        set_recording(false);
    }

    void start() override
    {
        osc_capture_options options{};
        options.size = sizeof(options);
        options.modes = config_.modes;
        options.output_dir = config_.output_dir.c_str();
        options.cores = config_.cores.data();
        options.core_count = static_cast<uint32_t>(config_.cores.size());
        options.max_events_per_nc = config_.max_events_per_nc;
        options.neff_cache_dir =
            config_.neff_cache_dir.empty() ? nullptr : config_.neff_cache_dir.c_str();
        options.precache = config_.precache_node_info;
        std::string text;
        {
            const std::lock_guard<std::mutex> lock(state_mutex);
            text = facts;
        }
        options.facts_json = text.empty() ? nullptr : text.c_str();
        osc_err err{};
        if (osc_capture_start(&options, &finished_->capture, &err) != OSC_OK)
            fail("cannot start the capture", err);
        status_ = libkineto::TraceStatus::RECORDING;
        set_recording(true);
    }

    void stop() override
    {
        osc_err err{};
        if (finished_->capture && osc_capture_stop(finished_->capture, &err) != OSC_OK)
            fail("the capture is incomplete", err);
        static std::atomic<uint64_t> windows{0};
        finished_->id = ++windows;
        finished_->correlated = config_.correlate_device_time;
        status_ = libkineto::TraceStatus::PROCESSING;
        set_recording(false);
        const std::lock_guard<std::mutex> lock(state_mutex);
        newest = finished_;
    }

    std::vector<std::string> errors() override
    {
        return finished_->error.empty() ? std::vector<std::string>()
                                        : std::vector<std::string>{finished_->error};
    }

    void processTrace(libkineto::ActivityLogger &logger) override
    {
        processTrace(
            logger, [](int32_t) { return nullptr; }, 0, INT64_MAX);
    }

    void processTrace(libkineto::ActivityLogger &logger,
                      libkineto::getLinkedActivityCallback linked, int64_t window_start,
                      int64_t window_end) override
    {
        buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
        buffer_->span = libkineto::TraceSpan(window_start, window_end, "neuron");
        buffer_->span.iteration = 0;
        buffer_->gpuOpCount = 0;
        uint64_t count = 0;
        const osc_capture_op *ops =
            finished_->capture ? osc_capture_ops(finished_->capture, &count) : nullptr;
        for (uint64_t i = 0; i < count; i++) {
            if (ops[i].enter_ns < window_start || ops[i].enter_ns > window_end)
                continue;
            const libkineto::ITraceActivity *op =
                ops[i].correlation ? linked(static_cast<int32_t>(ops[i].correlation)) : nullptr;
            const uint32_t flow = first_flow_id + static_cast<uint32_t>(i);
            emit_runtime(logger, ops[i], op, flow);
            if (config_.correlate_device_time)
                emit_device(logger, ops[i], op, flow);
        }
    }

    std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override
    {
        return std::make_unique<libkineto::DeviceInfo>(
            libkineto::DeviceInfo{0, libkineto::kExceedMaxPid, "NEURON", "NC 0"});
    }

    std::vector<libkineto::ResourceInfo> getResourceInfos() override
    {
        return {libkineto::ResourceInfo{0, 0, 0, "Stream 0"}};
    }

    std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override
    {
        return std::move(buffer_);
    }

    void pushCorrelationId(uint64_t id) override
    {
        osc_push_correlation(id);
    }
    void popCorrelationId() override
    {
        osc_pop_correlation();
    }

    std::string getDeviceProperties() override
    {
        return finished_->capture ? osc_capture_device_json(finished_->capture) : "";
    }

  private:
    void set_recording(bool recording)
    {
        if (recording != recording_)
            sessions_recording += recording ? 1 : -1;
        recording_ = recording;
    }

    void fail(const char *what, const osc_err &err)
    {
        finished_->error = std::string(what) + ": " + err.message;
        TORCH_WARN("neuron profiler: ", finished_->error);
    }

    GenericTraceActivity &add(ActivityType type, const std::string &name, const osc_capture_op &op,
                              const libkineto::ITraceActivity *linked)
    {
        buffer_->emplace_activity(buffer_->span, type, name);
        GenericTraceActivity &activity = *buffer_->activities.back();
        activity.linked = linked;
        activity.addMetadata("nrt_sequence_id", op.sequence);
        if (op.kind == OSC_CAPTURE_EXEC)
            activity.addMetadata("exec_id", op.exec_id);
        else
            activity.addMetadata("bytes", op.bytes);
        return activity;
    }

    void emit_runtime(libkineto::ActivityLogger &logger, const osc_capture_op &op,
                      const libkineto::ITraceActivity *linked, uint32_t flow)
    {
        GenericTraceActivity &activity =
            add(ActivityType::PRIVATEUSE1_RUNTIME, runtime_call_name(op.kind), op, linked);
        // An operator that first writes a scalar makes two calls one after the other, not one inside the other.
        int64_t &previous_end = last_call_end_[op.thread_id];
        activity.startTime = std::min(std::max(op.enter_ns, previous_end), op.submit_ns);
        activity.endTime = op.submit_ns;
        previous_end = op.submit_ns;
        activity.id = static_cast<int32_t>(flow);
        activity.device = static_cast<int32_t>(getpid());
        activity.resource = static_cast<int32_t>(op.thread_id);
        activity.threadId = activity.resource;
        if (config_.correlate_device_time)
            set_flow(activity, flow, true);
        activity.log(logger);
    }

    void emit_device(libkineto::ActivityLogger &logger, const osc_capture_op &op,
                     const libkineto::ITraceActivity *linked, uint32_t flow)
    {
        GenericTraceActivity &activity =
            add(device_activity_type(op.kind), device_activity_name(op), op, linked);
        activity.startTime = op.start_ns;
        activity.endTime = op.end_ns;
        activity.id = static_cast<int32_t>(flow);
        activity.device = op.device;
        activity.resource = static_cast<int32_t>(op.stream);
        activity.addMetadata("correlation", flow);
        activity.addMetadata("device", op.device);
        activity.addMetadata("stream", op.stream);
        if (op.kind == OSC_CAPTURE_EXEC) {
            activity.addMetadata("launch_ns", op.launch_ns);
            activity.addMetadata("body_ns", op.body_ns);
            activity.addMetadataQuoted("neff", std::to_string(op.neff_hash));
            buffer_->gpuOpCount++;
        }
        set_flow(activity, flow, false);
        activity.log(logger);
    }

    static void set_flow(GenericTraceActivity &activity, uint32_t id, bool start)
    {
        activity.flow.id = id;
        activity.flow.type = libkineto::kLinkAsyncCpuGpu;
        activity.flow.start = start;
    }

    ProfilerConfig config_;
    bool recording_ = false;
    std::unordered_map<int64_t, int64_t>
        last_call_end_; // by thread: end of its newest runtime call, ns
    std::shared_ptr<FinishedCapture> finished_ = std::make_shared<FinishedCapture>();
    std::unique_ptr<libkineto::CpuTraceBuffer> buffer_;
};

class Profiler final : public libkineto::IActivityProfiler
{
  public:
    const std::string &name() const override
    {
        return name_;
    }
    const std::set<ActivityType> &availableActivities() const override
    {
        return activities_;
    }

    std::unique_ptr<libkineto::IActivityProfilerSession> configure(
        const std::set<ActivityType> &types, const libkineto::Config &config) override
    {
        // A CPU-only profile asks for the PRIVATEUSE1 types too, but never for kernels.
        if (types.count(ActivityType::CONCURRENT_KERNEL) == 0)
            return nullptr;
        ProfilerConfig parsed = parse_profiler_config(config.getCustomConfig());
        for (const std::string &warning : parsed.warnings)
            TORCH_WARN(warning);
        return std::make_unique<Session>(std::move(parsed));
    }

    std::unique_ptr<libkineto::IActivityProfilerSession> configure(
        int64_t, int64_t, const std::set<ActivityType> &types,
        const libkineto::Config &config) override
    {
        return configure(types, config);
    }

  private:
    std::string name_ = "__neuron_profiler__";
    std::set<ActivityType> activities_ = {ActivityType::CONCURRENT_KERNEL, ActivityType::GPU_MEMCPY,
                                          ActivityType::GPU_MEMSET,
                                          ActivityType::PRIVATEUSE1_RUNTIME};
};

REGISTER_PRIVATEUSE1_PROFILER(Profiler);

// Only `autograd.profiler.profile(use_device="neuron")` reaches these; without `enabled` PyTorch prints
// "PrivateUse1 used in profiler but not enabled" with a stack for every operator (pytorch-adapter.md 3.6).
struct Stubs final : torch::profiler::impl::ProfilerStubs {
    void record(c10::DeviceIndex *device, torch::profiler::impl::ProfilerVoidEventStub *event,
                int64_t *cpu_ns) const override
    {
        if (device)
            *device = 0;
        if (cpu_ns)
            *cpu_ns = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch())
                          .count();
        event->reset();
    }
    float elapsed(const torch::profiler::impl::ProfilerVoidEventStub *,
                  const torch::profiler::impl::ProfilerVoidEventStub *) const override
    {
        return 0;
    }
    void mark(const char *) const override
    {
    }
    void rangePush(const char *) const override
    {
    }
    void rangePop() const override
    {
    }
    bool enabled() const override
    {
        return true;
    }
    void onEachDevice(std::function<void(int)> op) const override
    {
        op(0);
    }
    void synchronize() const override
    {
    }
};

struct RegisterStubs {
    RegisterStubs()
    {
        static Stubs stubs;
        torch::profiler::impl::registerPrivateUse1Methods(&stubs);
    }
} register_stubs;

} // namespace

std::shared_ptr<const FinishedCapture> last_finished_capture()
{
    const std::lock_guard<std::mutex> lock(state_mutex);
    return newest;
}

bool is_profiling()
{
    return sessions_recording.load() > 0;
}

void set_capture_facts(std::string facts_json)
{
    const std::lock_guard<std::mutex> lock(state_mutex);
    facts = std::move(facts_json);
}
