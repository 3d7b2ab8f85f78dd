// tensor.cpp - tensors on the device: element types, allocation, descriptors for the C runtime.
#include "tensor.h"

#include <ATen/EmptyTensor.h>

#include "allocator.h"
#include "runtime.h"

namespace osc
{

bool computes(at::ScalarType type)
{
    switch (type) {
    case at::kBool:
    case at::kByte:
    case at::kChar:
    case at::kShort:
    case at::kInt:
    case at::kHalf:
    case at::kBFloat16:
    case at::kFloat: return true;
    default: return false;
    }
}

osc_dtype dtype_of(at::ScalarType type)
{
    switch (type) {
    case at::kBool: return OSC_BOOL;
    case at::kByte: return OSC_U8;
    case at::kChar: return OSC_I8;
    case at::kShort: return OSC_I16;
    case at::kInt: return OSC_I32;
    case at::kLong: return OSC_I64;
    case at::kHalf: return OSC_F16;
    case at::kBFloat16: return OSC_BF16;
    case at::kFloat: return OSC_F32;
    case at::kDouble: return OSC_F64;
    case at::kUInt16: return OSC_U16;
    case at::kUInt32: return OSC_U32;
    default: return OSC_DTYPE_NONE;
    }
}

osc_dtype move_dtype_of(at::ScalarType type)
{
    switch (c10::elementSize(type)) {
    case 1: return OSC_U8;
    case 2: return OSC_U16;
    case 4: return OSC_U32;
    case 8: return OSC_I64;
    case 16: return OSC_RAW128;
    default: return OSC_DTYPE_NONE;
    }
}

namespace
{
constexpr c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);
}

at::Tensor make_empty(at::IntArrayRef size, at::ScalarType type, c10::DeviceIndex device,
                      std::optional<at::MemoryFormat> format)
{
    const DeviceScope scope(resolve_device(device));
    return at::detail::empty_generic(size, allocator(), keys, type, format);
}

at::Tensor make_strided(at::IntArrayRef size, at::IntArrayRef stride, at::ScalarType type,
                        c10::DeviceIndex device)
{
    const DeviceScope scope(resolve_device(device));
    return at::detail::empty_strided_generic(size, stride, allocator(), keys, type);
}

osc_nrt_tensor describe(const at::TensorBase &t, osc_dtype dtype)
{
    // Without elements strides mean nothing; one form keeps an expanded empty tensor from being read.
    static const int64_t no_elements[OSC_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    const bool empty = t.numel() == 0;
    osc_nrt_tensor d;
    // const_data_ptr: a read must not materialise a copy-on-write storage.
    d.address = empty ? nullptr : const_cast<void *>(t.const_data_ptr());
    d.dtype = dtype;
    d.rank = static_cast<uint32_t>(t.dim());
    d.size = t.sizes().data();
    d.stride = empty ? no_elements : t.strides().data();
    return d;
}

} // namespace osc
