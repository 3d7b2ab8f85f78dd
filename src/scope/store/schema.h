/*
 * schema.h - every table of the store, declared once as data.
 *
 * A column is one line: X(table, C type, logical type, name, unit, meaning). From these lists come
 * the row structs, the column views, the add functions, the storage, and the descriptions that
 * `schema`, SQL and the documents print. Times are int64 nanoseconds; host times are on the UNIX
 * clock.
 *
 * Strings are ids of the store's pool. A column that names a row of another table has that table's
 * name as its unit and OSC_NO_ROW where there is none. Columns of the tables about a device are in
 * schema_device.h.
 */
#ifndef OSC_STORE_SCHEMA_H
#define OSC_STORE_SCHEMA_H

#include "scope/store/schema_device.h"

#include <stdint.h>

#define OSC_NO_ROW UINT32_MAX

/* Times in the store lie within +-OSC_TIME_MAX and lengths within OSC_DUR_MAX (104 days), so that a
 * start plus a length, and the difference of two ends, always fit int64. */
#define OSC_DUR_MAX  (INT64_C(1) << 53)
#define OSC_TIME_MAX ((INT64_C(1) << 62) - (INT64_C(1) << 54))

/* T(row name, table name for people, meaning of the table) */
#define OSC_STORE_TABLES(T)                                                                       \
    T(slice, "slices", "intervals on a track: operators, runtime calls, device work, frames")     \
    T(track, "tracks", "lanes: a host thread, a device stream, a core")                           \
    T(launch, "launches",                                                                         \
      "numbers that tie a slice to the runtime; one row per slice that has any")                  \
    T(memory, "memory", "allocator records: bytes taken or given back at an instant")             \
    T(sequence, "sequences", "autograd numbers that tie a backward operator to its forward one")  \
    T(flow, "flows", "arrows between slices, as the file has them")                               \
    T(link, "links", "which slice caused which, and how that is known")                           \
    T(program, "programs", "device programs (NEFF files) that executions ran")                    \
    T(inst, "instructions", "the instructions of each program")                                   \
    T(semop, "semaphore_ops", "waits and increments of instructions")                             \
    T(exec, "executions", "one run of a program on a core")                                       \
    T(part, "launch_parts", "the launch interval of an execution, by its modelled parts")         \
    T(work, "device_work", "what engines and DMA rings did during an execution")                  \
    T(file, "files", "files of a session and what was read from them")                            \
    T(finding, "findings", "what the readers noticed about the input")                            \
    T(meta, "metadata", "facts about the whole capture, by key")                                  \
    T(engine, "engines", "names of engine numbers")                                               \
    T(queue, "dma_queues", "DMA queues that carried something")                                   \
    T(traffic, "traffic", "bytes and arithmetic of an instruction; one row per one that has any") \
    T(semaphore, "semaphores", "who raises a semaphore, where the input says it")                 \
    T(semup, "semaphore_updates", "changes of semaphores, in time")                               \
    T(throttle, "throttle", "intervals in which the hardware limited the tensor engine")          \
    T(tensor, "tensors", "tensors of each program")                                               \
    T(layer, "layers", "layers and subgraphs of a device profile")                                \
    T(sample, "samples", "figures over time: DMA rate, SBUF and PSUM in use")                     \
    T(usage, "device_memory", "device memory by what it is used for")                             \
    T(stated, "stated_summary", "the summary that a device profile brings itself")

#define OSC_SLICE_COLUMNS(X, R)                                                                    \
    X(R, int64_t, I64, start_ns, "ns", "start")                                                    \
    X(R, int64_t, I64, dur_ns, "ns", "length, never negative")                                     \
    X(R, int64_t, I64, external_id, "",                                                            \
      "the operator it belongs to or is; 0 when the file says none")                               \
    X(R, int64_t, I64, correlation, "", "number shared by a launch and its device work; 0 none")   \
    X(R, uint64_t, U64, args_at, "bytes", "offset of its arguments in the input")                  \
    X(R, uint32_t, U32, args_len, "bytes", "length of its arguments in the input, 0 none")         \
    X(R, uint32_t, STR, name, "", "name as the file has it")                                       \
    X(R, uint32_t, U32, track, "tracks", "the lane it is drawn on")                                \
    X(R, uint32_t, U32, order, "", "position in the profiler's own list; 4294967295 when unknown") \
    X(R, uint32_t, STR, shapes, "", "input shapes as Python prints them, empty when not recorded") \
    X(R, uint8_t, U8, kind, "", "osc_slice_kind")                                                  \
    X(R, uint8_t, U8, flags, "", "OSC_SLICE_* bits")

#define OSC_TRACK_COLUMNS(X, R)                                                                 \
    X(R, uint32_t, STR, name, "", "instance/PID:<pid>/subsystem/identifier")                    \
    X(R, uint32_t, STR, lane, "", "subsystem/identifier, e.g. framework/TID:12")                \
    X(R, uint32_t, STR, label, "", "what the producer called it, may be empty")                 \
    X(R, uint32_t, U32, thread, "", "equal for tracks with the same process and thread number") \
    X(R, int64_t, I64, number, "", "thread, stream or core number; 0 when it is not a number")  \
    X(R, uint8_t, U8, lane_kind, "", "osc_lane_kind")

#define OSC_LAUNCH_COLUMNS(X, R)                                                              \
    X(R, uint64_t, U64, sequence_id, "", "nrt_sequence_id, 0 none")                           \
    X(R, int64_t, I64, exec_id, "executions.exec_id", "execution number on its core, 0 none") \
    X(R, int64_t, I64, bytes, "bytes", "bytes moved, 0 unknown")                              \
    X(R, int64_t, I64, device, "", "device index, -1 unknown")                                \
    X(R, uint32_t, U32, slice, "slices", "the slice these numbers belong to")                 \
    X(R, uint32_t, STR, cache_key, "", "compile cache key of the program")

#define OSC_MEMORY_COLUMNS(X, R)                                                    \
    X(R, int64_t, I64, at_ns, "ns", "when")                                         \
    X(R, int64_t, I64, bytes, "bytes", "taken (positive) or given back (negative)") \
    X(R, int32_t, I32, device_type, "", "c10::DeviceType number")                   \
    X(R, uint32_t, U32, track, "tracks", "thread that did it")                      \
    X(R, uint8_t, U8, oom, "", "1 for an out-of-memory record")

#define OSC_SEQUENCE_COLUMNS(X, R)                                                            \
    X(R, int64_t, I64, sequence, "", "Sequence number, equal for a forward and its backward") \
    X(R, int64_t, I64, fwd_thread, "", "Fwd thread id; 0 in forward operators")               \
    X(R, uint32_t, U32, slice, "slices", "the operator")

#define OSC_FLOW_COLUMNS(X, R)                                                     \
    X(R, int64_t, I64, at_ns, "ns", "when")                                        \
    X(R, uint32_t, STR, id, "", "its id as text; unique only within its category") \
    X(R, uint32_t, STR, category, "", "\"ac2g\", \"fwdbwd\", ...")                 \
    X(R, uint32_t, U32, track, "tracks", "lane of this end")                       \
    X(R, uint8_t, U8, phase, "", "0 start, 1 step, 2 end")

#define OSC_LINK_COLUMNS(X, R)                       \
    X(R, uint32_t, U32, from, "slices", "the cause") \
    X(R, uint32_t, U32, to, "slices", "the effect")  \
    X(R, uint8_t, U8, rule, "", "osc_link_rule")

#define OSC_FILE_COLUMNS(X, R)                                                   \
    X(R, uint32_t, STR, name, "", "file name in the session")                    \
    X(R, uint32_t, STR, role, "", "what it is")                                  \
    X(R, uint32_t, STR, state, "", "complete, truncated, missing, foreign, ...") \
    X(R, uint64_t, U64, bytes, "bytes", "size")                                  \
    X(R, uint64_t, U64, events, "", "records read from it")

#define OSC_FINDING_COLUMNS(X, R)                                 \
    X(R, uint64_t, U64, times, "", "how often")                   \
    X(R, uint64_t, U64, offset, "bytes",                          \
      "byte offset of the first case; 18446744073709551615 none") \
    X(R, uint32_t, STR, code, "", "stable short name")            \
    X(R, uint32_t, STR, sentence, "", "one plain sentence")       \
    X(R, uint32_t, STR, input, "", "file it concerns")            \
    X(R, uint8_t, U8, severity, "", "osc_severity of artifact/finding.h")

#define OSC_META_COLUMNS(X, R)                       \
    X(R, uint32_t, STR, key, "", "name of the fact") \
    X(R, uint32_t, STR, value, "", "its value as text")

/* X for all tables at once: calls M(row name, its column list). */
#define OSC_STORE_ALL(M)                \
    M(slice, OSC_SLICE_COLUMNS)         \
    M(track, OSC_TRACK_COLUMNS)         \
    M(launch, OSC_LAUNCH_COLUMNS)       \
    M(memory, OSC_MEMORY_COLUMNS)       \
    M(sequence, OSC_SEQUENCE_COLUMNS)   \
    M(flow, OSC_FLOW_COLUMNS)           \
    M(link, OSC_LINK_COLUMNS)           \
    M(program, OSC_PROGRAM_COLUMNS)     \
    M(inst, OSC_INST_COLUMNS)           \
    M(semop, OSC_SEMOP_COLUMNS)         \
    M(exec, OSC_EXEC_COLUMNS)           \
    M(part, OSC_PART_COLUMNS)           \
    M(work, OSC_WORK_COLUMNS)           \
    M(file, OSC_FILE_COLUMNS)           \
    M(finding, OSC_FINDING_COLUMNS)     \
    M(meta, OSC_META_COLUMNS)           \
    M(engine, OSC_ENGINE_COLUMNS)       \
    M(queue, OSC_QUEUE_COLUMNS)         \
    M(traffic, OSC_TRAFFIC_COLUMNS)     \
    M(semaphore, OSC_SEMAPHORE_COLUMNS) \
    M(semup, OSC_SEMUP_COLUMNS)         \
    M(throttle, OSC_THROTTLE_COLUMNS)   \
    M(tensor, OSC_TENSOR_COLUMNS)       \
    M(layer, OSC_LAYER_COLUMNS)         \
    M(sample, OSC_SAMPLE_COLUMNS)       \
    M(usage, OSC_USAGE_COLUMNS)         \
    M(stated, OSC_STATED_COLUMNS)

#endif
