/*
 * schema_device.h - the columns of the store's tables about a device: programs and their
 * instructions, executions, what engines, queues and memories did.
 *
 * Part of schema.h, which says what a column line means; include that.
 */
#ifndef OSC_STORE_SCHEMA_DEVICE_H
#define OSC_STORE_SCHEMA_DEVICE_H

#define OSC_PROGRAM_COLUMNS(X, R)                                           \
    X(R, uint64_t, U64, hash, "", "numeric hash of its file names")         \
    X(R, uint32_t, STR, name, "", "operator or graph it was compiled from") \
    X(R, uint32_t, STR, cache_key, "", "compile cache key")

#define OSC_INST_COLUMNS(X, R)                                                  \
    X(R, uint32_t, U32, program, "programs", "the program it is in")            \
    X(R, uint32_t, U32, index, "", "position in its engine's stream")           \
    X(R, uint32_t, STR, opcode, "", "name of the operation")                    \
    X(R, uint32_t, STR, text, "", "disassembly")                                \
    X(R, uint32_t, STR, label, "", "what it does, in a few words")              \
    X(R, uint32_t, STR, source_op, "", "framework operator it comes from")      \
    X(R, uint32_t, STR, source_at, "", "file:line it comes from, may be empty") \
    X(R, uint8_t, U8, engine, "", "engine number")

#define OSC_SEMOP_COLUMNS(X, R)                                  \
    X(R, uint32_t, U32, inst, "instructions", "the instruction") \
    X(R, uint32_t, U32, sem, "", "semaphore number")             \
    X(R, uint32_t, U32, value, "", "value waited for, or added") \
    X(R, uint8_t, U8, is_wait, "", "1 waits, 0 adds")

#define OSC_EXEC_COLUMNS(X, R)                                                                     \
    X(R, uint64_t, U64, sequence_id, "", "nrt_sequence_id that scheduled it, 0 unknown")           \
    X(R, int64_t, I64, exec_id, "", "execution number on its core, from 1")                        \
    X(R, int64_t, I64, start_ns, "ns", "start of nc_exec_running")                                 \
    X(R, int64_t, I64, dur_ns, "ns", "length of nc_exec_running, launch included")                 \
    X(R, int64_t, I64, body_ns, "ns", "start of the device body: preamble")                        \
    X(R, int64_t, I64, body_dur_ns, "ns", "length of the device body, preamble through postamble") \
    X(R, uint32_t, U32, core, "", "core number")                                                   \
    X(R, uint32_t, U32, program, "programs", "the program it ran")                                 \
    X(R, uint32_t, U32, slice, "slices", "its slice on the hardware lane")

#define OSC_PART_COLUMNS(X, R)                               \
    X(R, uint32_t, U32, exec, "executions", "the execution") \
    X(R, uint32_t, STR, name, "", "name of the part")        \
    X(R, int64_t, I64, dur_ns, "ns", "its length")           \
    X(R, uint8_t, U8, fitted, "", "1 when a fitted model gave it, 0 when measured")

#define OSC_WORK_COLUMNS(X, R)                                                             \
    X(R, int64_t, I64, ready_ns, "ns", "when it was first in its queue")                   \
    X(R, int64_t, I64, start_ns, "ns", "start")                                            \
    X(R, int64_t, I64, dur_ns, "ns", "length")                                             \
    X(R, uint64_t, U64, bytes, "bytes", "bytes moved (DMA)")                               \
    X(R, uint64_t, U64, amount, "", "descriptors (DMA) or elements (instructions)")        \
    X(R, uint32_t, U32, exec, "executions", "the execution")                               \
    X(R, uint32_t, U32, inst, "instructions", "the instruction, or its issuer for DMA")    \
    X(R, uint32_t, U32, wait_sem, "", "semaphore it waited for when wait is 1")            \
    X(R, uint32_t, U32, queue, "dma_queues", "queue of a packet or transfer, where known") \
    X(R, uint8_t, U8, kind, "", "osc_work_kind")                                           \
    X(R, uint8_t, U8, engine, "", "engine number")                                         \
    X(R, uint8_t, U8, ring, "", "DMA engine 0..15")                                        \
    X(R, uint8_t, U8, wait, "", "osc_wait_kind")

#define OSC_ENGINE_COLUMNS(X, R)                                           \
    X(R, uint32_t, STR, name, "", "\"Tensor\", ... as the input calls it") \
    X(R, uint8_t, U8, number, "", "engine number")

#define OSC_QUEUE_COLUMNS(X, R)                                              \
    X(R, uint32_t, U32, program, "programs", "the program")                  \
    X(R, uint32_t, STR, name, "", "its name; empty when the input has none") \
    X(R, uint32_t, STR, number, "", "its number as text")                    \
    X(R, uint32_t, STR, type, "", "what the input calls its kind")           \
    X(R, uint8_t, U8, dma_class, "", "osc_dma_class")

#define OSC_TRAFFIC_COLUMNS(X, R)                                                           \
    X(R, uint64_t, U64, elements, "", "multiply-accumulates")                               \
    X(R, uint64_t, U64, hbm_read, "bytes", "read from device memory")                       \
    X(R, uint64_t, U64, hbm_write, "bytes", "written to device memory")                     \
    X(R, uint64_t, U64, sbuf_read, "bytes", "DMA: all partitions; compute: one partition")  \
    X(R, uint64_t, U64, sbuf_write, "bytes", "DMA: all partitions; compute: one partition") \
    X(R, uint64_t, U64, psum_read, "bytes", "of one partition")                             \
    X(R, uint64_t, U64, psum_write, "bytes", "of one partition")                            \
    X(R, uint64_t, U64, psum_to_sbuf, "bytes", "read from PSUM, written to SBUF")           \
    X(R, uint64_t, U64, input_queue, "bytes", "blocks of input queues")                     \
    X(R, uint64_t, U64, output_queue, "bytes", "blocks of output queues")                   \
    X(R, uint64_t, U64, weight_queue, "bytes", "blocks of weight queues")                   \
    X(R, uint64_t, U64, spill_save, "bytes", "intermediates written for lack of SBUF")      \
    X(R, uint64_t, U64, spill_reload, "bytes", "and read back")                             \
    X(R, uint32_t, U32, inst, "instructions", "the instruction")                            \
    X(R, uint8_t, U8, flags, "", "OSC_TRAFFIC_* bits")

#define OSC_SEMAPHORE_COLUMNS(X, R)                         \
    X(R, uint32_t, U32, program, "programs", "the program") \
    X(R, uint32_t, U32, sem, "", "semaphore number")        \
    X(R, uint32_t, STR, owner, "", "engine or DMA queue that raises it")

#define OSC_SEMUP_COLUMNS(X, R)                              \
    X(R, int64_t, I64, at_ns, "ns", "when")                  \
    X(R, int64_t, I64, value, "", "value after the change")  \
    X(R, uint32_t, U32, exec, "executions", "the execution") \
    X(R, uint32_t, U32, sem, "", "semaphore number; 4294967295 when the input has another form")

#define OSC_THROTTLE_COLUMNS(X, R)                           \
    X(R, int64_t, I64, start_ns, "ns", "start")              \
    X(R, int64_t, I64, dur_ns, "ns", "length")               \
    X(R, int64_t, I64, k, "", "limit: k of n")               \
    X(R, int64_t, I64, n, "", "limit: k of n")               \
    X(R, uint32_t, U32, exec, "executions", "the execution") \
    X(R, uint32_t, STR, type, "", "activity_0, unknown, ...")

#define OSC_TENSOR_COLUMNS(X, R)                                              \
    X(R, uint64_t, U64, bytes, "bytes", "size")                               \
    X(R, uint64_t, U64, loaded_bytes, "bytes", "moved to SBUF, all loads")    \
    X(R, uint64_t, U64, loads, "", "loads to SBUF")                           \
    X(R, uint32_t, U32, program, "programs", "the program")                   \
    X(R, uint32_t, STR, name, "", "name")                                     \
    X(R, uint32_t, STR, kind, "", "IN, OUT, WEIGHT, INOUT, SCRATCH or empty") \
    X(R, uint32_t, STR, shape, "", "sizes as text")                           \
    X(R, uint32_t, STR, format, "", "layout or element type as text")

#define OSC_LAYER_COLUMNS(X, R)                             \
    X(R, int64_t, I64, start_ns, "ns", "first start")       \
    X(R, int64_t, I64, dur_ns, "ns", "to the last end")     \
    X(R, uint32_t, U32, program, "programs", "the program") \
    X(R, uint32_t, STR, name, "", "path of the layer")      \
    X(R, uint32_t, STR, subgraph, "", "path of its subgraph")

#define OSC_SAMPLE_COLUMNS(X, R)                             \
    X(R, int64_t, I64, at_ns, "ns", "when")                  \
    X(R, int64_t, I64, value, "", "in the sample's unit")    \
    X(R, uint32_t, U32, exec, "executions", "the execution") \
    X(R, uint32_t, STR, series, "", "what is sampled")       \
    X(R, uint32_t, STR, unit, "", "bytes, bytes/s, count, 1e-9 (of the whole)")

#define OSC_USAGE_COLUMNS(X, R)                          \
    X(R, uint64_t, U64, bytes, "bytes", "size")          \
    X(R, uint32_t, STR, what, "", "what it is used for") \
    X(R, uint32_t, U32, core, "", "core number")

#define OSC_STATED_COLUMNS(X, R)                                   \
    X(R, uint32_t, STR, field, "", "name of the field")            \
    X(R, uint32_t, STR, value, "", "its value as the file has it") \
    X(R, uint8_t, U8, is_number, "", "1 a number, 0 a text")

#endif
