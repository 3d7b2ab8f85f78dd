/*
 * devprofile_columns.h - the columns of a device profile's tables, declared once as data.
 *
 * Part of devprofile.h, which makes the row structs of them; devprofile.c makes the reader's
 * description. The keys are those of the vendor's JSON (docs/formats/device-profile.md).
 */
#ifndef OSC_ARTIFACT_DEVPROFILE_COLUMNS_H
#define OSC_ARTIFACT_DEVPROFILE_COLUMNS_H

#include <stdint.h>

/* Value of an integer that a row does not have, where 0 would mean something. */
#define OSC_DP_NONE INT64_MIN

/*
 * X(row, kind, member, key, default, required, meaning). Kinds: I64 (a number, or one in a text),
 * F64, FLAG (true, "yes", "true"), STR (a text, or the JSON of anything else). A row without a
 * required member is left out and counted.
 */
#define OSC_DP_INST_COLUMNS(X, R)                                                               \
    X(R, I64, start_ns, "timestamp", 0, true, "start, ns")                                      \
    X(R, I64, dur_ns, "duration", 0, true, "length, ns, cut to whole")                          \
    X(R, I64, wait_ns, "evt_wait_time", 0, false,                                               \
      "wait before the start, ns; a counter that wraps")                                        \
    X(R, I64, id, "id", 0, false, "number of the row")                                          \
    X(R, I64, pc, "pc", OSC_DP_NONE, false, "program counter")                                  \
    X(R, I64, compiler_pc, "compiler_pc", OSC_DP_NONE, false, "the compiler's counter")         \
    X(R, I64, core, "pcore_idx", OSC_DP_NONE, false, "physical core")                           \
    X(R, I64, trigger_ns, "trigger", OSC_DP_NONE, false, "start of the DMA it started, ns")     \
    X(R, I64, elements, "elements", 0, false, "multiply-accumulates")                           \
    X(R, I64, hbm_read, "hbm_read_bytes", 0, false, "bytes")                                    \
    X(R, I64, hbm_write, "hbm_write_bytes", 0, false, "bytes")                                  \
    X(R, I64, sbuf_read, "sbuf_read_bytes", 0, false, "bytes; compute: of one partition")       \
    X(R, I64, sbuf_write, "sbuf_write_bytes", 0, false, "bytes; compute: of one partition")     \
    X(R, I64, psum_read, "psum_read_bytes", 0, false, "bytes of one partition")                 \
    X(R, I64, psum_write, "psum_write_bytes", 0, false, "bytes of one partition")               \
    X(R, I64, psum_to_sbuf, "psum_read_sbuf_write_bytes", 0, false, "bytes of one partition")   \
    X(R, I64, input_queue, "input_queue_bytes", 0, false, "bytes")                              \
    X(R, I64, output_queue, "output_queue_bytes", 0, false, "bytes")                            \
    X(R, I64, weight_queue, "weight_queue_bytes", 0, false, "bytes")                            \
    X(R, I64, spill_save, "spill_save_bytes", 0, false, "bytes")                                \
    X(R, I64, spill_reload, "spill_reload_bytes", 0, false, "bytes")                            \
    X(R, FLAG, is_psum_to_sbuf, "is_psum_read_sbuf_write", 0, false, "reads PSUM, writes SBUF") \
    X(R, STR, engine, "subgroup", 0, false, "Tensor, Vector, Scalar, GpSimd, Sync")             \
    X(R, STR, label, "label", 0, false, "row of the vendor's viewer")                           \
    X(R, STR, opcode, "opcode", 0, false, "operation")                                          \
    X(R, STR, operands, "operands", 0, false, "operand text (devprofile_operands.h)")           \
    X(R, STR, type, "instruction_type", 0, false, "\"\", REGULAR, TRANSPOSE")                   \
    X(R, STR, name, "bir_instruction_name", 0, false, "the compiler's name")                    \
    X(R, STR, layer, "layer", 0, false, "layer of the network")                                 \
    X(R, STR, subgraph, "fully_qualified_subgraph", 0, false, "subgraph")                       \
    X(R, STR, hlo_name, "hlo_name", 0, false, "operation of the network")                       \
    X(R, STR, hlo_attrs, "hlo_attrs", 0, false, "JSON: op_type, source_file, source_line")      \
    X(R, STR, activation, "activation_fn", 0, false, "activation function")                     \
    X(R, STR, compiler_opcode, "compiler_opcode", 0, false, "operation before loading")         \
    X(R, STR, compiler_operands, "compiler_operands", 0, false, "operands before loading")      \
    X(R, STR, predecessors, "predecessors", 0, false, "JSON: ids of what it depends on")

#define OSC_DP_DMA_COLUMNS(X, R)                                                             \
    X(R, I64, start_ns, "timestamp", 0, true, "start, ns")                                   \
    X(R, I64, dur_ns, "duration", 0, true, "length, ns")                                     \
    X(R, I64, id, "id", 0, false, "number of the row")                                       \
    X(R, I64, bytes, "transfer_size", 0, false, "bytes moved")                               \
    X(R, I64, read_bytes, "read_size", 0, false, "bytes read")                               \
    X(R, I64, write_bytes, "write_size", 0, false, "bytes written")                          \
    X(R, I64, engine, "dma_engine", OSC_DP_NONE, false, "DMA engine 0..15")                  \
    X(R, I64, packet, "packet_idx", OSC_DP_NONE, false, "position in its transfer")          \
    X(R, I64, transfer, "packet_aggregation_id", 0, false, "id of its transfer")             \
    X(R, I64, block, "block_id", OSC_DP_NONE, false, "block of a static queue")              \
    X(R, I64, core, "pcore_idx", OSC_DP_NONE, false, "physical core")                        \
    X(R, I64, trigger_ns, "trigger", OSC_DP_NONE, false, "when it was triggered, ns")        \
    X(R, FLAG, aggregated, "aggregated", 0, false, "a transfer; else a packet")              \
    X(R, FLAG, collective, "is_cc_dma", 0, false, "belongs to a collective")                 \
    X(R, FLAG, duplicate, "duplicate", 0, false, "")                                         \
    X(R, STR, type, "queue_type", 0, false, "data, instruction, software_dynamic, ...")      \
    X(R, STR, queue, "dma_queue", 0, false, "number of the queue")                           \
    X(R, STR, lane, "subgroup", 0, false, "\"queue-Q1-E0\", \"Q0-E3\", or the queue's name") \
    X(R, STR, variable, "variable", 0, false, "tensor")                                      \
    X(R, STR, semaphore, "semaphore_id", 0, false, "semaphore it raises")                    \
    X(R, STR, op, "op", 0, false, "copy, ...")                                               \
    X(R, STR, source, "source", 0, false, "JSON: where from")                                \
    X(R, STR, dest, "dest", 0, false, "JSON: where to")

#define OSC_DP_SEM_COLUMNS(X, R)                                      \
    X(R, I64, at_ns, "timestamp", 0, true, "when, ns")                \
    X(R, I64, value, "value", 0, false, "value after the change")     \
    X(R, I64, core, "pcore_idx", OSC_DP_NONE, false, "physical core") \
    X(R, STR, id, "id", 0, true, "\"2\" or \"S[24] (qGpSimdDynamic)\"")

#define OSC_DP_HAM_COLUMNS(X, R)                                      \
    X(R, I64, start_ns, "timestamp", 0, true, "start, ns")            \
    X(R, I64, dur_ns, "duration", 0, true, "length, ns")              \
    X(R, I64, k, "k", 1, false, "limit: k of n cycles")               \
    X(R, I64, n, "n", 1, false, "limit: k of n cycles")               \
    X(R, I64, core, "pcore_idx", OSC_DP_NONE, false, "physical core") \
    X(R, STR, type, "type", 0, false, "0 activity_0, 99 unknown, or a name")

#define OSC_DP_ACTIVE_COLUMNS(X, R)                                   \
    X(R, I64, start_ns, "start_ts", 0, true, "start, ns")             \
    X(R, I64, end_ns, "end_ts", 0, false, "end, ns")                  \
    X(R, I64, dur_ns, "duration_ns", 0, false, "length, ns")          \
    X(R, I64, core, "pcore_idx", OSC_DP_NONE, false, "physical core") \
    X(R, STR, engine, "engine", 0, false, "engine, lower case")

#define OSC_DP_PENDING_COLUMNS(X, R)                           \
    X(R, I64, at_ns, "timestamp", 0, true, "when, ns")         \
    X(R, I64, value, "value", 0, false, "transfers under way") \
    X(R, I64, core, "pcore_idx", OSC_DP_NONE, false, "physical core")

#define OSC_DP_THROUGH_COLUMNS(X, R)                                       \
    X(R, I64, at_ns, "timestamp", 0, true, "when, ns")                     \
    X(R, I64, bytes, "total_transfer_bytes", 0, false, "bytes so far")     \
    X(R, F64, rate, "transfer_rate", 0, false, "bytes a second in flight") \
    X(R, I64, core, "pcore_idx", OSC_DP_NONE, false, "physical core")

#define OSC_DP_USAGE_COLUMNS(X, R)                                    \
    X(R, I64, at_ns, "timestamp", 0, true, "when, ns")                \
    X(R, F64, mean, "usage_avg", 0, false, "fraction in use")         \
    X(R, I64, core, "pcore_idx", OSC_DP_NONE, false, "physical core") \
    X(R, STR, type, "type", 0, false, "sb or psum")

#define OSC_DP_TENSOR_COLUMNS(X, R)                                                    \
    X(R, I64, bytes, "size", 0, false, "bytes")                                        \
    X(R, I64, loads, "load_to_sbuf_dma_count", 0, false, "loads to SBUF")              \
    X(R, I64, loaded_bytes, "load_to_sbuf_total_size_bytes", 0, false, "bytes loaded") \
    X(R, STR, type, "type", 0, false, "IN, OUT, WEIGHT or \"\"")                       \
    X(R, STR, name, "variable_name", 0, false, "name")                                 \
    X(R, STR, shape, "shape", 0, false, "\"[128 512]\"")                               \
    X(R, STR, format, "format", 0, false, "NC, CRSM")                                  \
    X(R, STR, subgraph, "sg_name", 0, false, "subgraph")

#define OSC_DP_QUEUE_COLUMNS(X, R)                                   \
    X(R, STR, name, "q_name", 0, true, "name")                       \
    X(R, STR, type, "q_type", 0, false, "weights, unknown, ...")     \
    X(R, I64, index, "q_idx", OSC_DP_NONE, false, "number")          \
    X(R, I64, engine, "q_eng_idx", OSC_DP_NONE, false, "DMA engine") \
    X(R, I64, core, "pcore_idx", OSC_DP_NONE, false, "physical core")

#define OSC_DP_MEMORY_COLUMNS(X, R)                     \
    X(R, I64, bytes, "amount_bytes", 0, false, "bytes") \
    X(R, I64, core, "nc", 0, false, "core")             \
    X(R, I64, device, "nd", 0, false, "device")         \
    X(R, STR, type, "usage_type", 0, true, "what it is used for")

#define OSC_DP_LAYER_COLUMNS(X, R)                                \
    X(R, I64, start_ns, "start", 0, false, "first start, ns")     \
    X(R, I64, end_ns, "end", 0, false, "last end, ns")            \
    X(R, I64, dur_ns, "duration", 0, false, "end less start, ns") \
    X(R, STR, name, "name", 0, true, "\"/sg00/_dot.3\"")          \
    X(R, STR, subgraph, "fully_qualified_subgraph", 0, false, "subgraph")

#define OSC_DP_WARNING_COLUMNS(X, R)                      \
    X(R, STR, category, "category", 0, false, "category") \
    X(R, STR, message, "message", 0, true, "sentence")

#endif
