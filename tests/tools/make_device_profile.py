#!/usr/bin/env python3
"""Makes tests/data/scope/device_profile.json: a device profile in the vendor's export form, from invented numbers.

    python3 tests/tools/make_device_profile.py [--check]

A small program on five engines (and one that no known device has): two loads, a transpose, two products, two
activations, a store by hardware DMA. Times are made in picoseconds; the rows carry them cut down to whole ns as the
vendor's tool does, and the summary is computed here from the picoseconds, so a reader that recomputes it from the rows
must agree within the rounding and nothing more. Rows stand in no order. --check compares with the file instead.
"""
import json
import random
import sys
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "data/scope/device_profile.json"
ENGINES = ["Tensor", "Vector", "Scalar", "GpSimd", "Sync"]
FREE = {"EVENT_SEMAPHORE"}
STATIC = ("data", "instruction", "input", "output")
PEAK = 2 * 64 * 64 * 2.0e9  # the invented device: a 64 x 64 array at 2 GHz, 1 GHz elsewhere, 100 GB/s
MEMORY = 100e9


def ns(ps):
    return ps // 1000


class Profile:
    def __init__(self):
        self.random = random.Random(7)
        self.instructions, self.dma, self.semaphores, self.ham = [], [], [], []
        self.free = dict.fromkeys(ENGINES + ["Swizzle"], 0)
        self.pc = dict.fromkeys(self.free, 10)

    def instruction(self, engine, opcode, start, length, operands=" ", kind="", wait=0, **more):
        """Times in ps."""
        self.free[engine] = max(self.free[engine], start + length)
        self.pc[engine] += 1
        row = {"id": self.random.getrandbits(62), "timestamp": start, "duration": length, "evt_wait_time": ns(wait) % 65536,
               "label": "TensorMatrix" if opcode == "MATMUL" else engine, "subgroup": engine, "opcode": opcode,
               "operands": operands, "pc": self.pc[engine], "instruction_type": kind,
               "layer": "_product.1" if kind else "", "fully_qualified_subgraph": "/sg00",
               "bir_instruction_name": f"I-{self.pc[engine]}" if kind else "", "hlo_attrs": "", **more}
        self.instructions.append(row)
        return start + length

    def packets(self, queue, number, kind, start, count, size, semaphore, **transfer):
        """Packets on four DMA engines, a 4-byte semaphore write behind each; a transfer row when asked for."""
        name, ident, last = queue, self.random.getrandbits(62), start
        for engine in range(4):
            at = start + engine * 7300
            for index in range(count + 1):
                length = 4100 if index == count else 21000 + size * 37
                bytes_ = 4 if index == count else size
                self.dma.append({"timestamp": at, "duration": length, "aggregated": "no", "queue_type": kind,
                                 "dma_engine": str(engine), "dma_queue": number, "transfer_size": bytes_,
                                 "read_size": bytes_, "write_size": bytes_, "packet_idx": index,
                                 "packet_aggregation_id": ident, "id": self.random.getrandbits(62), "variable": "unknown",
                                 "semaphore_id": semaphore, "duplicate": "no", "is_cc_dma": "no", "op": "copy",
                                 "subgroup": f"{name}-Q{number}-E{engine}" if name else f"Q{number}-E{engine}"})
                at += length + 900
                last = max(last, at - 900)
        if transfer:
            self.dma.append({"timestamp": start, "duration": last - start, "aggregated": "yes", "queue_type": kind,
                             "dma_engine": "0", "dma_queue": number, "transfer_size": 4 * count * size, "id": ident,
                             "subgroup": name, "variable": "weight_0", "semaphore_id": semaphore, **transfer})
        return last

    def run(self):
        go = self.instruction
        for n, engine in enumerate(ENGINES + ["Swizzle"]):
            go(engine, "DRAIN", 5300 + 11100 * n, 7700)
            go(engine, "EVENT_SEMAPHORE", self.free[engine] + 40100, 205600 - 11100 * n, f"setter=0 $S[2]=={n} $S[2]++@complete")
            self.semaphores.append((self.free[engine] - 33000, "2", n + 1))
        rung = go("Sync", "WRITE", 400500, 37400, " data=0x3 size=4 dst=0xffff1002038 ", "REGULAR", trigger=ns(455000),
                  hbm_read_bytes=2048, sbuf_write_bytes=2048, weight_queue_bytes=2048, sbuf_read_bytes=0,
                  compiler_opcode="PSEUDO_DMA_TRIGGER")
        weights = self.packets("qWeights", "1", "data", 455000, 2, 256, "S[8] (qWeights)", trigger=ns(400500))
        self.packets("", "14", "instruction", rung + 90000, 1, 128, "-1")
        go("GpSimd", "DMA_DIRECT2D", 700250, 0, " semaphore=24 sem_increment=4  src_elem_size=256 dst_elem_size=256 "
           "src_pattern=[256,1][16,1] dst_pattern=[262144,1][16,1] dst_addr_imm=0xfffc0010000 compute_op=NONE ", "REGULAR",
           hbm_read_bytes=4096, sbuf_write_bytes=4096)
        loaded = self.packets("", "0", "software_dynamic", 731400, 4, 256, "S[24] (qGpSimdDynamic)")
        go("Tensor", "EVENT_SEMAPHORE", weights + 70300, 17200, "S[8] (qWeights)>=4 setter=0   ", "REGULAR",
           wait=weights + 70300 - self.free["Tensor"])
        held = loaded + 81400
        go("Tensor", "LDWEIGHTS", held, 83100, "S[24] (qGpSimdDynamic)>=4 src=fp16@0x1ffe[-1,0,-32][32,1,2] 64*64 ",
           "TRANSPOSE", wait=held - self.free["Tensor"], sbuf_read_bytes=128)
        start = go("Tensor", "MATMUL", held + 21000, 142900, "S[5] (Tensor)++@complete acc_flags=3 "
                   "src=fp16@0x1000[1,0,0][64,1,1] dst=0x2000800[1,0,0][64,1,1] 64*64 ", "TRANSPOSE",
                   elements=64 * 64 * 64, sbuf_read_bytes=128, psum_write_bytes=128)
        for n, columns in enumerate((512, 88)):
            begin = start + 9100
            start = go("Tensor", "MATMUL", begin, 60000 + columns * 357, "S[5] (Tensor)++@complete acc_flags=3 "
                       f"src=bf16@0x{0x1100 + n:x}[1,0,0][{columns},1,1] dst=0x200{n}000[1,0,0][{columns},1,1] 64*64 ",
                       "REGULAR", elements=64 * 64 * columns, sbuf_read_bytes=2 * columns, psum_write_bytes=2 * columns)
            wait = f"S[5] (Tensor)>={n + 2} S[4] (Scalar)++@complete EXP bias_imm=0.500000 "
            go("Scalar", "ACTIVATE", start + 38200, 93400 + columns * 300, wait + f"src=fp32@0x200{n}000[1,1,1][{columns},1,1] "
               f"dst=bf16@0x4100[1,1,1][{columns},1,1] channels=64 scale=1.000000 imm=[0x0] accumulator_cmd=IDLE", "REGULAR",
               wait=start + 38200 - self.free["Scalar"], psum_read_bytes=4 * columns, sbuf_write_bytes=2 * columns,
               psum_read_sbuf_write_bytes=2 * columns, is_psum_read_sbuf_write=True, activation_fn="EXP")
        done = self.free["Scalar"]
        go("Swizzle", "PERMUTE", done - 120700, 64300, "S[4] (Scalar)>=1 table=[1,2,3,x] lanes=8")
        go("Vector", "TENSOR_TENSOR", done - 90200, 51800, "S[4] (Scalar)>=1 MAX src0=fp32@0x4100[1][88] dst=fp32@0x4200[1][88]",
           "REGULAR", wait=150000, sbuf_read_bytes=704, sbuf_write_bytes=352)
        go("Sync", "DMA_TRIGGER", done + 71500, 0, "S[4] (Scalar)>=2 queue=3", "REGULAR", wait=done + 71500 - self.free["Sync"],
           hbm_write_bytes=76800, sbuf_read_bytes=76800, spill_save_bytes=512)
        stored = self.packets("qSyncHw", "3", "hardware_dynamic", done + 150300, 3, 512, "S[40] (qSyncHw)")
        go("Sync", "NOP", stored + 70100, 16400, "S[40] (qSyncHw)>=4 cycle=0 ", "REGULAR", wait=stored - done)
        end = self.free["Sync"] + 50300
        for n, engine in enumerate(ENGINES):
            go(engine, "NOTIFY", end + 40700 * n, 8200, " hint=0 notification=EXPLICIT trace=START ")
        self.stop = ns(end + 40700 * 4) * 1000 + 183350  # the vendor's run ends so far behind its last NOTIFY row
        go("Sync", "DRAIN", self.stop + 20000, 151300)
        self.last = self.stop + 171300
        self.ham = [(905000, 300500, 7, 8, 0), (1205500, 220100, 1, 1, 99), (1500000, 40900, 5, 8, 0)]


def union(rows):
    total, reach = 0, None
    for start, end in sorted((r["timestamp"], r["timestamp"] + r["duration"]) for r in rows):
        if reach is None or start > reach:
            total, reach = total + end - start, end
        elif end > reach:
            total, reach = total + end - reach, end
    return total


def summary(p):
    """From the picoseconds. Only what the tests need of it has more than one line."""
    work = [r for r in p.instructions if r["opcode"] not in FREE]
    packets = [r for r in p.dma if r["aggregated"] == "no"]
    transfers = [r for r in p.dma if r["aggregated"] == "yes"]
    total = p.stop * 1e-12
    s = {"total_time": total, "total_active_time": union(work + packets) * 1e-12,
         "event_count": len(p.semaphores) + 54, "instance_type": "invented", "profiler_version": "0.0.invented"}
    s["trace_count"] = len(p.instructions) + len(p.dma) + s["event_count"]
    for engine in ENGINES:
        mine = [r for r in work if r["subgroup"] == engine]
        name = engine.lower() + "_engine_"
        s[name + "instruction_count"] = sum(r["subgroup"] == engine for r in p.instructions)
        s[name + "instruction_time"] = sum(r["duration"] for r in mine) * 1e-12
        s[name + "active_time"] = union(mine) * 1e-12
        s[name + "active_time_percent"] = union(mine) * 1e-12 / total
    for key in ("hbm_read_bytes", "hbm_write_bytes", "sbuf_read_bytes", "sbuf_write_bytes", "psum_read_bytes",
                "psum_write_bytes", "psum_read_sbuf_write_bytes", "weight_queue_bytes", "spill_save_bytes"):
        s[key] = sum(r.get(key, 0) for r in p.instructions)
    for name, kind in (("hardware_flops", None), ("transpose_flops", "TRANSPOSE"), ("model_flops", "REGULAR")):
        s[name] = 2 * sum(r.get("elements", 0) for r in p.instructions if kind in (None, r["instruction_type"]))
    s["mfu_estimated_percent"] = s["model_flops"] / (PEAK * total)
    s["mbu_estimated_percent"] = (s["hbm_read_bytes"] + s["hbm_write_bytes"]) / total / MEMORY
    s["dma_active_time"] = union(packets) * 1e-12
    s["dma_queue_count"] = len({(r["dma_queue"], r["dma_engine"]) for r in packets})
    s["dma_transfer_count"] = len(transfers)
    s["dma_transfer_total_bytes"] = sum(r["transfer_size"] for r in transfers)
    for name, kinds in (("static", STATIC), ("software_dynamic", ("software_dynamic",)),
                        ("hardware_dynamic", ("hardware_dynamic",))):
        mine = [r for r in packets if r["queue_type"] in kinds]
        s[name + "_dma_packet_count"] = len(mine)
        s[name + "_dma_size"] = sum(r["transfer_size"] for r in mine)
        s[name + "_dma_active_time"] = union(mine) * 1e-12
        s[name + "_dma_active_time_percent"] = union(mine) / union(packets)
    s["throttle_active_nc0_time_ns"] = sum(ns(d) for _, d, k, n, _ in p.ham if k < n)
    s["throttle_activity_0_active_time_nc0_percent"] = sum(ns(d) for _, d, _, _, t in p.ham if t == 0) / ns(p.last)
    s["inputs_outputs_weights_size_bytes"] = 4096 + 2048 + 76800
    # one field that a tool got wrong, so that the comparison has something to find
    s["dma_packet_time"] = 1.5 * sum(r["duration"] for r in packets) * 1e-12
    return s


def cut(row):
    out = dict(row)
    out["timestamp"], out["duration"] = ns(row["timestamp"]), ns(row["duration"])
    return out


def document():
    p = Profile()
    p.run()
    tables = {
        "profile_info": [{"profiler_version": "0.0.invented", "profile_type": "normal", "cc_only": False}],
        "instruction": [cut(r) for r in p.instructions],
        "dma": [cut(r) for r in p.dma],
        "semaphore_update": [{"timestamp": ns(t), "id": i, "value": v} for t, i, v in p.semaphores],
        "ham": [{"timestamp": ns(t), "duration": ns(d), "k": k, "n": n, "type": kind} for t, d, k, n, kind in p.ham],
        "metadata": [{"first_hw_timestamp": 0, "last_hw_timestamp": ns(p.last), "pe_num_rows": 64, "pe_num_cols": 64,
                      "pe_clock_freq": 2, "pe_clock_others": 1.0, "hbm_ddr_bandwidth": MEMORY, "data_version": 8}],
        "neff_header": [{"network_name": "product.neff", "hash": "0123456789abcdeffedcba9876543210"}],
        "neff_node": [{"type": t, "variable_name": v, "shape": s, "size": str(b), "format": "NC"} for t, v, s, b in
                      (("IN", "input0", "[16 128]", 4096), ("WEIGHT", "weight_0", "[8 128]", 2048),
                       ("OUT", "output0", "[64 600]", 76800), ("", "", "", 0))],
        "layer_summary": [{"name": "/sg00/_product.1", "fully_qualified_subgraph": "/sg00", "start": 400, "end": 1900,
                           "duration": 1500}],
        "nc_mem_usage": [{"usage_type": "Tensors", "amount_bytes": 82944, "nc": 0, "nd": 0}],
        "warnings": [{"category": "Missing Data", "message": "This profile is invented."}],
        "dma_throughput": [{"timestamp": 500, "total_transfer_bytes": 512, "transfer_rate": 1.25e9}],
        "instruction_usage": [{"timestamp": 900, "type": "sb", "usage_avg": 0.125}],
        "pending_dma": [{"timestamp": 455, "value": 1}],
        "future_table": [{"whatever": [1, {"deep": None}]}],
        "model_info": [{"nc_idx": 0, "nd_idx": 2}],
        "summary": [summary(p)],
    }
    for rows in tables.values():
        p.random.shuffle(rows)
    return json.dumps(tables, indent=0, sort_keys=False) + "\n"


def main():
    text = document()
    if "--check" in sys.argv[1:]:
        if OUT.read_text() != text:
            sys.exit(f"{OUT} is not what this script makes")
        return
    OUT.write_text(text)
    print(OUT, len(text))


if __name__ == "__main__":
    main()
