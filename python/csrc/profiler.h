// profiler.h - what the Kineto session leaves behind for the exporter.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "opscope/neuron.h"

// One finished capture window. Shared: the session that made it and the exporter that reads it may
// outlive each other. Immutable after the session's stop().
struct FinishedCapture {
    uint64_t id = 0; // counts windows of this process from 1
    osc_capture *capture = nullptr;
    std::string error;       // why files or records are missing, "" if nothing is
    bool correlated = false; // device activities went into Kineto
    FinishedCapture() = default;
    FinishedCapture(const FinishedCapture &) = delete;
    FinishedCapture &operator=(const FinishedCapture &) = delete;
    ~FinishedCapture()
    {
        osc_capture_release(capture);
    }
};

// The newest finished window, null before the first. Any thread.
std::shared_ptr<const FinishedCapture> last_finished_capture();

// True while a profile with device `neuron` is recording. Any thread.
bool is_profiling();

// Framework facts (a JSON object) that captures started from now on put in run.json. Any thread.
void set_capture_facts(std::string facts_json);
