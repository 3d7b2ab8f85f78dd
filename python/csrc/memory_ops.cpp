// Factories, views, resize and set: operators that touch a tensor's metadata or storage but no values.
//
// Views are ATen's own functions. resize_ and set_ are not: ATen's CPU versions grow a storage by
// dereferencing it, and device memory faults when the host does that (pytorch-adapter.md 1.2).
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include "allocator.h"
#include "runtime.h"
#include "tensor.h"

namespace osc
{
namespace
{

using Type = std::optional<at::ScalarType>;
using LayoutArg = std::optional<at::Layout>;
using DeviceArg = std::optional<at::Device>;
using Flag = std::optional<bool>;

void check_factory(LayoutArg layout, Flag pinned)
{
    TORCH_CHECK(!layout.has_value() || *layout == at::kStrided,
                "neuron tensors are strided: layout ", *layout, " is not supported");
    TORCH_CHECK(!pinned.value_or(false), "Only dense CPU tensors can be pinned");
}

at::ScalarType type_or_default(Type type)
{
    return type.has_value() ? *type : c10::get_default_dtype_as_scalartype();
}

c10::DeviceIndex index_of(DeviceArg device)
{
    return device.has_value() ? device->index() : c10::DeviceIndex(-1);
}

at::Tensor empty(at::IntArrayRef size, Type type, LayoutArg layout, DeviceArg device, Flag pinned,
                 std::optional<at::MemoryFormat> format)
{
    check_factory(layout, pinned);
    return make_empty(size, type_or_default(type), index_of(device), format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, Type type, LayoutArg layout,
                         DeviceArg device, Flag pinned)
{
    check_factory(layout, pinned);
    return make_strided(size, stride, type_or_default(type), index_of(device));
}

// A tensor that is known to be zero and has no memory; forward-mode autograd makes them.
at::Tensor efficient_zero(at::IntArrayRef size, Type type, LayoutArg layout, DeviceArg device,
                          Flag pinned)
{
    check_factory(layout, pinned);
    const c10::DispatchKeySet keys({c10::DispatchKey::PrivateUse1, c10::DispatchKey::ZeroTensor});
    at::native::ZeroTensorAllocator no_memory(
        c10::Device(c10::DeviceType::PrivateUse1, resolve_device(index_of(device))));
    return at::detail::empty_generic(size, &no_memory, keys, type_or_default(type), std::nullopt);
}

void grow_storage(const at::Tensor &self, size_t bytes)
{
    const c10::Storage &storage = self.unsafeGetTensorImpl()->unsafe_storage();
    if (self.numel() != 0 && bytes > storage.nbytes()) {
        at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(storage, bytes);
    }
}

const at::Tensor &resize_(const at::Tensor &self, at::IntArrayRef size,
                          std::optional<at::MemoryFormat> format)
{
    at::detail::check_size_nonnegative(size);
    at::TensorImpl *impl = self.unsafeGetTensorImpl();
    if (self.sizes() != size) {
        impl->set_sizes_contiguous(size);
        grow_storage(self, at::detail::computeStorageNbytesContiguous(
                               size, self.itemsize(), static_cast<size_t>(self.storage_offset())));
    }
    if (format.has_value()) {
        TORCH_CHECK(*format != at::MemoryFormat::Preserve, "Unsupported memory format", *format);
        impl->empty_tensor_restride(*format);
    }
    return self;
}

at::Tensor &set_storage_range(at::Tensor &self, at::Storage source, int64_t offset,
                              at::IntArrayRef size, at::IntArrayRef stride)
{
    at::native::checkSetStorage(self, source, offset, size, stride);
    at::TensorImpl *impl = self.unsafeGetTensorImpl();
    impl->set_storage_offset(offset);
    if (stride.data() == nullptr) {
        impl->set_sizes_contiguous(size);
    } else {
        impl->set_sizes_and_strides(size, stride);
    }
    grow_storage(self,
                 at::detail::computeStorageNbytes(self.sizes(), self.strides(), self.itemsize(),
                                                  static_cast<size_t>(offset)));
    return self;
}

at::Tensor &set_storage(at::Tensor &self, at::Storage source)
{
    const auto count = static_cast<int64_t>(source.nbytes() / self.itemsize());
    return set_storage_range(self, std::move(source), 0, {count}, {});
}

at::Tensor &set_nothing(at::Tensor &self)
{
    const c10::DeviceIndex device = self.device().index();
    const DeviceScope scope(device);
    c10::Storage storage(c10::Storage::use_byte_size_t(), 0, allocator()->allocate(0), allocator(),
                         /*resizable=*/true);
    return set_storage_range(self, std::move(storage), 0, {0}, {});
}

// Blocks are reused in submission order on every stream, so there is nothing to defer.
void record_stream(at::Tensor &self, at::Stream stream)
{
    TORCH_CHECK(stream.device_type() == c10::DeviceType::PrivateUse1,
                "record_stream: expected a neuron stream, got one of ", stream.device());
    TORCH_CHECK(on_device(self), "record_stream: expected a neuron tensor");
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("empty.memory_format", TORCH_FN(empty));
    m.impl("empty_strided", TORCH_FN(empty_strided));
    m.impl("_efficientzerotensor", TORCH_FN(efficient_zero));
    m.impl("view", TORCH_FN(at::native::view));
    m.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
    m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
    m.impl("unfold", TORCH_FN(at::native::unfold));
    m.impl("view_as_real", TORCH_FN(at::native::view_as_real));
    m.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
    m.impl("resize_", TORCH_FN(resize_));
    m.impl("set_", TORCH_FN(set_nothing));
    m.impl("set_.source_Storage", TORCH_FN(set_storage));
    m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage_range));
    m.impl("set_.source_Tensor", TORCH_FN(at::native::set_tensor_));
    m.impl("record_stream", TORCH_FN(record_stream));
}

} // namespace
} // namespace osc
