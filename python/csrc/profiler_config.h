// profiler_config.h - the profiler's settings as they travel through Kineto's custom config string.
//
// The string is `key:value;key:value` (torchneuron-face.md 1.5): split at the first colon only, values
// percent-decoded (%25 %3B), whitespace trimmed. Parsing is tolerant: what it cannot use becomes a
// warning, never an exception, because Kineto calls from the middle of a run. NeuronConfig validates
// strictly in Python before the string is made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct ProfilerConfig {
    uint32_t modes = 0; // OSC_MODE_*; 0: no files
    std::string output_dir = "./output";
    std::vector<uint32_t> cores;    // empty: all
    uint64_t max_events_per_nc = 0; // 0: the default of opscope/capture.h
    std::string neff_cache_dir;     // empty: unset
    bool precache_node_info = true;
    bool correlate_device_time = false;
    std::vector<std::string> warnings;
};

ProfilerConfig parse_profiler_config(const std::string &text);
