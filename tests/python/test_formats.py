"""The .pb files are protobuf: Google's implementation reads them by the published .proto, field by field.

No protoc is needed: a small parser turns docs/formats/systrace.proto into a descriptor. The sample files
come from the C test program test_artifact_samples; their values are those of tests/unit/artifact_samples.h.
"""

import hashlib
import json
import os
import pathlib
import re
import struct
import subprocess

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, unknown_fields
from google.protobuf.message import Message

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OPSCOPE_BUILD_DIR", ROOT / "build"))
PROTO = ROOT / "docs" / "formats" / "systrace.proto"
FIELDS_H = ROOT / "src" / "artifact" / "systrace_fields.h"

HASH = 3957600758123456789
T0 = 1764411300000000000
COMMENT = re.compile(r"//[^\n]*")


# ---- the .proto as a descriptor -----------------------------------------------------------------------

SCALARS = {name: getattr(descriptor_pb2.FieldDescriptorProto, "TYPE_" + name.upper())
           for name in ("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32",
                        "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes")}


def add_field(message, label, kind, name, number, enums):
    field = message.field.add(name=name, number=int(number), label=3 if label == "repeated" else 1)
    if kind in SCALARS:
        field.type = SCALARS[kind]
    else:
        field.type = field.TYPE_ENUM if kind in enums else field.TYPE_MESSAGE
        field.type_name = ".opscope." + kind
    if label == "optional":  # proto3 keeps presence in a oneof of its own
        field.proto3_optional = True
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name="_" + name)


def parse_proto(text):
    """The subset of proto3 that systrace.proto uses: flat messages and enums."""
    text = COMMENT.sub("", text)
    file = descriptor_pb2.FileDescriptorProto(name="systrace.proto", syntax="proto3", package="opscope")
    assert 'syntax = "proto3"' in text and "package opscope" in text
    blocks = re.findall(r"(message|enum)\s+(\w+)\s*\{(.*?)\}", text, re.S)
    enums = {name for kind, name, _ in blocks if kind == "enum"}
    for kind, name, body in blocks:
        if kind == "enum":
            enum = file.enum_type.add(name=name)
            for value, number in re.findall(r"(\w+)\s*=\s*(\d+)\s*;", body):
                enum.value.add(name=value, number=int(number))
            continue
        message = file.message_type.add(name=name)
        for label, type_, field, number in re.findall(r"(?:(repeated|optional)\s+)?(\w+)\s+(\w+)\s*=\s*(\d+)\s*;", body):
            add_field(message, label, type_, field, number, enums)
    return file


@pytest.fixture(scope="module")
def classes():
    pool = descriptor_pool.DescriptorPool()
    file = parse_proto(PROTO.read_text())
    pool.Add(file)
    return {m.name: message_factory.GetMessageClass(pool.FindMessageTypeByName("opscope." + m.name))
            for m in file.message_type}


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    directory = tmp_path_factory.mktemp("samples")
    subprocess.run([BUILD / "tests" / "test_artifact_samples", directory], check=True)
    return directory


# ---- checksums, written down independently of the C code ----------------------------------------------

def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def records(data):
    """(field number, payload) of each top-level field."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        assert tag & 7 == 2, "every top-level field is a message"
        size, at = varint(data, at)
        yield tag >> 3, data[at:at + size]
        at += size


FILES = {"ntrace.pb": "NTrace", "cpu_util.pb": "CpuUtil", "host_mem.pb": "HostMem", "trace_info.pb": "TraceInfo"}


def decode(classes, samples, name):
    return classes[FILES[name]].FromString((samples / name).read_bytes())


@pytest.mark.parametrize("name", FILES)
def test_every_record_ends_in_its_checksum(samples, name):
    numbers = []
    for number, payload in records((samples / name).read_bytes()):
        content, tail = payload[:-6], payload[-6:]
        assert tail[:2] == b"\xa5\x06"  # field 100, fixed32
        assert struct.unpack("<I", tail[2:])[0] == crc32c(bytes([number]) + content)
        numbers.append(number)
    assert numbers[0] == 1 and numbers[-1] == 15


@pytest.mark.parametrize("name", FILES)
def test_writing_again_gives_the_same_bytes(classes, samples, name):
    message = decode(classes, samples, name)
    assert not has_unknown_fields(message)
    assert message.SerializeToString(deterministic=True) == (samples / name).read_bytes()


def has_unknown_fields(message):
    if len(unknown_fields.UnknownFieldSet(message)):
        return True
    for field, value in message.ListFields():
        if field.message_type is not None:
            children = [value] if isinstance(value, Message) else value
            if any(has_unknown_fields(child) for child in children):
                return True
    return False


@pytest.mark.parametrize("name", FILES)
def test_header(classes, samples, name):
    header = decode(classes, samples, name).header
    assert header.magic == "opscope." + name.removesuffix(".pb")
    assert (header.major, header.minor) == (1, 0)


def test_full_event(classes, samples):
    trace = decode(classes, samples, "ntrace.pb")
    assert len(trace.event) == trace.end.records == 4
    assert trace.end.end_ns == T0 + 9000000
    e = trace.event[0]
    got = {f.name: v for f, v in e.ListFields() if f.name not in ("part", "crc32c")}
    assert got == {
        "id": 1, "parent_id": 77, "type": 1, "start_ns": T0, "duration_ns": 388200, "nc_idx": 0, "pcore_idx": 1,
        "thread_id": 4712, "stream": 0, "tracking_id": 11, "flow_id": (1 << 48) + 29, "exec_id": 7,
        "sequence_id": (1 << 48) + 30, "correlation": 501, "model_id": 1001, "neff_hash": HASH,
        "model_name": "aten::mul", "op_name": "aten::mul.Tensor", "tensor_name": "output0", "tensor_id": 12,
        "size": 4096, "nc_start_ns": -5, "nc_stop_ns": 1002345, "body_ns": 11200,
        "extra_json": '{"queue":"q0","quote":"a\\"b"}'}
    assert json.loads(e.extra_json)["quote"] == 'a"b'
    assert [(p.name, p.ns, p.fitted) for p in e.part] == [
        ("submit", 45000, True), ("switch", 90000, True), ("measured", 1234, False)]


def test_presence(classes, samples):
    full, bare, sync, other = decode(classes, samples, "ntrace.pb").event
    assert full.HasField("nc_idx") and full.HasField("stream")
    assert not any(bare.HasField(f) for f in ("nc_idx", "pcore_idx", "stream", "nc_start_ns", "nc_stop_ns"))
    assert sync.HasField("nc_start_ns") and sync.nc_start_ns == 0 and sync.nc_idx == 3
    assert (sync.type, sync.phase) == (2, 3)
    assert (other.type, other.type_name, other.phase, other.tracking_id) == (0, "hw_notify", 1, 9)


def test_samples_of_the_host(classes, samples):
    cpu = decode(classes, samples, "cpu_util.pb")
    assert [(s.time_ns, s.duration_ns, list(s.percent)) for s in cpu.sample] == [
        (T0, 10**9, [0.0, 12.5, 100.0]), (T0 + 10**9, 10**9, [0.0, 12.5])]
    mem = decode(classes, samples, "host_mem.pb")
    assert [(s.time_ns, s.duration_ns, s.total_bytes, s.used_bytes, s.process_bytes) for s in mem.sample] == [
        (T0 + i, 5, 64 << 30, (8 << 30) + i, 123456789) for i in range(2)]
    assert cpu.end.records == mem.end.records == 2


def test_trace_info(classes, samples):
    info = decode(classes, samples, "trace_info.pb")
    c = info.capture
    assert (c.instance_id, c.instance_type, c.pid, c.simulated) == ("i-local", "trn2", 4711, True)
    assert (c.producer, c.framework) == ("opscope 0.1.0", "torch 2.13.0")
    assert (c.window_start_ns, c.window_end_ns) == (T0, T0 + 9000000)
    assert [(k.nc_idx, k.events_kept, k.events_dropped, k.clock_origin_ns, k.clock_drift_ppb) for k in info.core] == [
        (0, 96, 0, T0 - 7, -250), (2, 1, 5, 0, 250)]
    assert info.program[0].hash == HASH and info.program[0].uuid == bytes(range(1, 17))
    assert info.program[0].cache_key == "mul--_[4,512]:BFloat16:S(C)" and info.program[0].flops == 2048
    assert [(s.name, s.value) for s in info.setting] == [("max_events_per_nc", "1000000"), ("modes", "DEVICE,RUNTIME")]
    assert info.end.records == 7


def test_a_file_cut_between_records_is_still_a_message(classes, samples):
    data = (samples / "ntrace.pb").read_bytes()
    parts = list(records(data))
    cut = len(data) - len(parts[-1][1]) - 2  # without the end record
    trace = classes["NTrace"].FromString(data[:cut])
    assert len(trace.event) == 4 and not trace.HasField("end")


def test_field_numbers_of_the_c_code_are_those_of_the_proto(classes):
    """systrace_fields.h against the .proto, name by name."""
    names = {"nc": "nc_idx", "pcore": "pcore_idx", "thread": "thread_id", "tracking": "tracking_id", "flow": "flow_id",
             "exec": "exec_id", "sequence": "sequence_id", "parent": "parent_id", "model": "model_id",
             "tensor": "tensor_id", "nc_start": "nc_start_ns", "nc_stop": "nc_stop_ns", "body": "body_ns",
             "extra": "extra_json", "start": "start_ns", "duration": "duration_ns"}
    text = FIELDS_H.read_text()
    found = {name.lower(): int(number) for name, number in re.findall(r"\bEV_(\w+) = (\d+)", text)}
    event = {f.name: f.number for f in classes["Event"].DESCRIPTOR.fields if f.name != "crc32c"}
    assert {names.get(name, name): number for name, number in found.items()} == event


def test_run_json_is_json_with_the_artifacts(samples):
    run = json.loads((samples / "run.json").read_text())
    assert (run["format"], run["major"], run["simulated"]) == ("opscope.run", 1, True)
    assert run["framework"] == {"script": "naive.py"}
    assert run["device"]["generation"] == "trn2"
    assert all(set(p) <= {"value", "unit", "default"} for p in run["device"]["parameters"].values())
    for artifact in run["artifacts"]:
        data = (samples / artifact["name"]).read_bytes()
        assert len(data) == artifact["bytes"] and hashlib.sha256(data).hexdigest() == artifact["sha256"]
    assert {a["name"] for a in run["artifacts"]} >= set(FILES)


# ---- NTFF, decoded from its specification alone -------------------------------------------------------

def ntff_chunks(data):
    assert data[:8] == b"OSCNTFF\0"
    major, _, header_bytes = struct.unpack_from("<HHI", data, 8)
    assert major == 1 and struct.unpack_from("<I", data, 188)[0] == crc32c(data[:188])
    at = header_bytes
    while at < len(data):
        kind, count, size, record, crc, reserved, head_crc = struct.unpack_from("<4sIQIIII", data, at)
        assert head_crc == crc32c(data[at:at + 28]) and reserved == 0
        payload = data[at + 32:at + 32 + size]
        assert crc == crc32c(payload)
        yield kind, count, record, payload
        at += 32 + size


def test_ntff_by_its_specification(samples):
    (path,) = samples.glob("*.ntff")
    assert path.name == f"{HASH}_instid_1_vnc_3.ntff"
    data = path.read_bytes()
    neff_hash, uuid, generation, core, instance, flags, pid = struct.unpack_from("<Q16sIIIIQ", data, 16)
    assert (neff_hash, generation, core, instance, flags, pid) == (HASH, 1, 3, 1, 1, 4711)
    chunks = list(ntff_chunks(data))
    assert [c[0] for c in chunks] == [b"EXEC", b"EVTS"] * 3 + [b"END "]
    fixed = struct.unpack_from("<IIQQQqqqqqqqqqQII", chunks[0][3])
    assert fixed == (len(chunks[0][3]), 3, 1, (1 << 48) + 29, 500, -1, 4712, T0, T0 + 1000, T0 + 388200, 700000, 11200,
                     T0 + 388201, 711200, 0, 0, 9)
    assert chunks[0][3][120:129] == b"aten::mul"
    kind, count, record, payload = chunks[1]
    assert (count, record) == (5, 56)
    assert struct.unpack_from("<BBBBBBHIIqqqQQ", payload, 56) == (
        1, 5, 4, 3, 1, 6, 301, 70001, 1, 700100, 700120, 700163, 0x1122334455667789, 4096)
    assert struct.unpack("<qQQQQ", chunks[-1][3]) == (T0 + 9000000, 3, 15, 0, 0)


def test_ntff_dump_of_the_specification(samples):
    """docs/formats/ntff.md prints parts of this very file."""
    (path,) = samples.glob("*.ntff")
    data = path.read_bytes()
    text = (ROOT / "docs" / "formats" / "ntff.md").read_text()
    rows = re.findall(r"^([0-9a-f]{8})  ((?:[0-9a-f]{2} ?)+)", text, re.M)
    assert len(rows) > 20
    for at, row in rows:
        want = bytes.fromhex(row)
        assert data[int(at, 16):int(at, 16) + len(want)] == want, at
