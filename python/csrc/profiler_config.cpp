// profiler_config.cpp - parser of the custom config string; rules in profiler_config.h.
#include "profiler_config.h"

#include <algorithm>
#include <charconv>

#include "opscope/neuron.h"

namespace
{

std::string trim(const std::string &s)
{
    const char *blanks = " \t\r\n";
    const auto begin = s.find_first_not_of(blanks);
    if (begin == std::string::npos)
        return "";
    return s.substr(begin, s.find_last_not_of(blanks) - begin + 1);
}

std::vector<std::string> split(const std::string &s, char separator)
{
    std::vector<std::string> parts;
    size_t begin = 0;
    while (begin <= s.size()) {
        const size_t end = std::min(s.find(separator, begin), s.size());
        parts.push_back(trim(s.substr(begin, end - begin)));
        begin = end + 1;
    }
    return parts;
}

int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

std::string percent_decode(const std::string &s)
{
    std::string out;
    for (size_t i = 0; i < s.size(); i++) {
        if (s[i] == '%' && i + 2 < s.size() && hex_digit(s[i + 1]) >= 0 &&
            hex_digit(s[i + 2]) >= 0) {
            out.push_back(static_cast<char>(hex_digit(s[i + 1]) * 16 + hex_digit(s[i + 2])));
            i += 2;
        } else {
            out.push_back(s[i]);
        }
    }
    return out;
}

bool parse_u64(const std::string &s, uint64_t *out)
{
    const auto result = std::from_chars(s.data(), s.data() + s.size(), *out);
    return !s.empty() && result.ec == std::errc() && result.ptr == s.data() + s.size();
}

bool parse_bool(std::string s, bool *out)
{
    std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return std::tolower(c); });
    if (s != "true" && s != "false")
        return false;
    *out = s == "true";
    return true;
}

// "0,2-5": inclusive ranges, result sorted and unique.
bool parse_cores(const std::string &s, std::vector<uint32_t> *out)
{
    constexpr uint64_t most = 4096;
    for (const std::string &part : split(s, ',')) {
        const size_t dash = part.find('-');
        uint64_t first = 0, last = 0;
        if (!parse_u64(trim(part.substr(0, dash)), &first))
            return false;
        last = first;
        if (dash != std::string::npos && !parse_u64(trim(part.substr(dash + 1)), &last))
            return false;
        if (last < first || last >= most)
            return false;
        for (uint64_t core = first; core <= last; core++)
            out->push_back(static_cast<uint32_t>(core));
    }
    std::sort(out->begin(), out->end());
    out->erase(std::unique(out->begin(), out->end()), out->end());
    return true;
}

bool parse_modes(const std::string &s, uint32_t *out)
{
    for (const std::string &name : split(s, ',')) {
        if (name == "device")
            *out |= OSC_MODE_DEVICE;
        else if (name == "runtime")
            *out |= OSC_MODE_RUNTIME;
        else if (name == "cpu_util")
            *out |= OSC_MODE_CPU_UTIL;
        else if (name == "host_memory")
            *out |= OSC_MODE_HOST_MEMORY;
        else
            return false;
    }
    return true;
}

enum class Applied { ok, bad_value, unknown_key };

Applied apply(const std::string &key, const std::string &value, ProfilerConfig *config)
{
    bool host_memory = false, good = false;
    if (key == "modes") {
        good = parse_modes(value, &config->modes);
    } else if (key == "max_events_per_nc") {
        good = parse_u64(value, &config->max_events_per_nc);
    } else if (key == "capture_enabled_for_nc") {
        good = parse_cores(value, &config->cores);
    } else if (key == "profile_output_dir") {
        config->output_dir = percent_decode(value);
        good = !config->output_dir.empty();
    } else if (key == "neff_cache_dir") {
        config->neff_cache_dir = percent_decode(value);
        good = true;
    } else if (key == "precache_node_info") {
        good = parse_bool(value, &config->precache_node_info);
    } else if (key == "correlate_device_time") {
        good = parse_bool(value, &config->correlate_device_time);
    } else if (key == "host_memory") { // key of the older string channel
        good = parse_bool(value, &host_memory);
        if (good && host_memory)
            config->modes |= OSC_MODE_HOST_MEMORY;
    } else {
        return Applied::unknown_key;
    }
    return good ? Applied::ok : Applied::bad_value;
}

} // namespace

ProfilerConfig parse_profiler_config(const std::string &text)
{
    ProfilerConfig config;
    bool any = false, has_modes = false;
    for (const std::string &option : split(text, ';')) {
        if (option.empty())
            continue;
        const size_t colon = option.find(':');
        if (colon == std::string::npos || colon == 0) {
            config.warnings.push_back("[Profiler] Ignoring malformed option '" + option + "'");
            continue;
        }
        const std::string key = trim(option.substr(0, colon)),
                          value = trim(option.substr(colon + 1));
        switch (apply(key, value, &config)) {
        case Applied::ok:
            any = true;
            has_modes = has_modes || key == "modes";
            break;
        case Applied::bad_value:
            config.warnings.push_back("[Profiler] Error parsing option '" + key + "': '" + value +
                                      "'");
            break;
        case Applied::unknown_key:
            config.warnings.push_back("[Profiler] Ignoring unrecognized option '" + key + "'");
            break;
        }
    }
    // The older string channel has no modes key; it captured device and runtime.
    if (any && !has_modes)
        config.modes |= OSC_MODE_DEVICE | OSC_MODE_RUNTIME;
    return config;
}
