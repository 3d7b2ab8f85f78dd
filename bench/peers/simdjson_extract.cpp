/*
 * simdjson_extract.cpp - what the fastest JSON library needs merely to take a few fields from every event.
 *
 *     simdjson_extract FILE [ROUNDS]        prints one JSON object
 *
 * simdjson's on-demand reader over the file in memory: name, category, phase, start, duration, grouped by name: no links, no nesting, no self times, no times
 * in nanoseconds. Loading is not counted, nor the first touch of its buffers after the first round: the best of
 * the rounds is what opscope, which reads the file, is compared with.
 */
#include <simdjson.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <sys/resource.h>
#include <unordered_map>

using namespace simdjson;

struct Sums {
    uint64_t events = 0;
    double check = 0; /* keeps the fields that are not grouped */
    std::unordered_map<std::string_view, std::pair<uint64_t, double>> names;
};

static double cpu_seconds()
{
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* Keys are told apart by their first letters: the cheapest way there is. */
static void take_event(ondemand::object event, Sums &sums)
{
    std::string_view name, category;
    bool complete = false;
    double start = 0, dur = 0;
    for (auto field : event) {
        ondemand::raw_json_string raw = field.key();
        const char *key = raw.raw();
        if (key[0] == 'p' && key[1] == 'h')
            complete = field.value().get_raw_json_string().value().raw()[0] == 'X';
        else if (key[0] == 'n')
            name = field.value().get_string().value();
        else if (key[0] == 'c' && key[1] == 'a')
            category = field.value().get_string().value();
        else if (key[0] == 't' && key[1] == 's')
            start = field.value().get_double().value();
        else if (key[0] == 'd')
            dur = field.value().get_double().value();
    }
    if (complete) {
        sums.events++;
        sums.check += start + (double)category.size();
        auto &sum = sums.names[name];
        sum.first++;
        sum.second += dur;
    }
}

static void extract(ondemand::parser &parser, const padded_string &text, Sums &sums)
{
    ondemand::document document = parser.iterate(text);
    for (auto field : document.get_object()) {
        if (std::string_view(field.unescaped_key()) != "traceEvents")
            continue;
        for (auto event : field.value().get_array())
            take_event(event.get_object(), sums);
    }
}

int main(int argc, char **argv)
try {
    padded_string text = padded_string::load(argc > 1 ? argv[1] : "");
    ondemand::parser parser;
    double best = 1e9;
    Sums sums;
    for (int round = argc > 2 ? atoi(argv[2]) : 5; round > 0; round--) {
        sums = Sums();
        double start = cpu_seconds();
        extract(parser, text, sums);
        best = std::min(best, cpu_seconds() - start);
        if (!(sums.check > 0))
            return 1;
    }
    printf("{\"version\": \"%d.%d.%d\", \"bytes\": %zu, \"cpu_s\": %.6f, \"events\": %llu, "
           "\"names\": %zu}\n",
           SIMDJSON_VERSION_MAJOR, SIMDJSON_VERSION_MINOR, SIMDJSON_VERSION_REVISION, text.size(),
           best, (unsigned long long)sums.events, sums.names.size());
    return 0;
} catch (const simdjson_error &error) {
    fprintf(stderr, "simdjson_extract: %s\n", error.what());
    return 1;
}
