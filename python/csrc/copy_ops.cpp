// _copy_from and its relatives.
//
// Bytes move as they are: a dense block is one transfer; a strided or casting copy within a device
// is the compiler's operator opscope::copy. CPU sides convert type and layout on the CPU first. Where the
// compiler has no lowering for a layout or a cast (64-bit and complex types), the smallest span of
// device memory that holds the view travels to the host and back, so every copy works.
#include "copy.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/ops/empty_strided.h>
#include <torch/library.h>

#include "launch.h"
#include "runtime.h"
#include "tensor.h"

namespace osc
{
namespace
{

constexpr const char *label_write = "neuron::copy::cpu_to_neuron";
constexpr const char *label_read = "neuron::copy::neuron_to_cpu";
constexpr const char *label_copy = "neuron::copy::neuron_to_neuron";

Site &strided_site()
{
    static Site site("opscope::copy", label_copy);
    return site;
}

bool dense(const at::Tensor &t)
{
    return t.is_non_overlapping_and_dense();
}

void *address(const at::Tensor &t)
{
    return const_cast<void *>(t.const_data_ptr());
}

// Bytes from a view's first element to the end of its last.
size_t span_bytes(const at::Tensor &t)
{
    return at::detail::computeStorageNbytes(t.sizes(), t.strides(), t.itemsize());
}

void write_bytes(const at::Tensor &dst, const void *src, size_t bytes, bool non_blocking)
{
    const c10::DeviceIndex device = dst.device().index();
    const osc_nrt_op op = facts(label_write, now_ns());
    Err err;
    check(osc_nrt_write(device, current_stream(device), address(dst), src, bytes, non_blocking, &op,
                        err),
          err);
}

void read_bytes(void *dst, const at::Tensor &src, size_t bytes)
{
    const c10::DeviceIndex device = src.device().index();
    const osc_nrt_op op = facts(label_read, now_ns());
    Err err;
    check(osc_nrt_read(device, current_stream(device), dst, src.const_data_ptr(), bytes, &op, err),
          err);
}

at::Tensor cpu_like(const at::Tensor &t)
{
    return at::empty_strided(t.sizes(), t.strides(), t.options().device(at::kCPU));
}

at::Tensor contiguous_on_device(const at::Tensor &like, at::ScalarType type)
{
    return make_empty(like.sizes(), type, like.device().index());
}

// Orders work of one device after what another has been given so far.
void wait_for(c10::DeviceIndex waiting, c10::DeviceIndex other)
{
    osc_nrt_event *event = nullptr;
    Err err;
    check(osc_nrt_event_create(&event, err), err);
    osc_status status = osc_nrt_event_record(event, other, current_stream(other), err);
    if (status == OSC_OK) {
        status = osc_nrt_event_wait(event, waiting, current_stream(waiting), err);
    }
    osc_nrt_event_destroy(event);
    check(status, err);
}

void copy_bytes(const at::Tensor &dst, const at::Tensor &src, size_t bytes)
{
    const c10::DeviceIndex to = dst.device().index();
    const c10::DeviceIndex from = src.device().index();
    if (to != from) {
        wait_for(to, from);
    }
    const osc_nrt_op op = facts(label_copy, now_ns());
    Err err;
    check(osc_nrt_copy(to, current_stream(to), address(dst), src.const_data_ptr(), bytes, &op, err),
          err);
    if (to != from) {
        wait_for(from, to); // the source's memory must not be reused before it was read
    }
}

// Strided or casting copy as a device program. False: no lowering, as for most 64-bit casts.
bool copy_by_program(const at::Tensor &dst, const at::Tensor &src)
{
    if (dst.dim() > OSC_MAX_RANK) {
        return false;
    }
    Launch launch(strided_site());
    launch.on(dst.device().index());
    if (dst.scalar_type() == src.scalar_type() && !computes(src.scalar_type())) {
        launch.add_moved(src);
        launch.result_moved(dst);
        return launch.run();
    }
    if (dtype_of(dst.scalar_type()) == OSC_DTYPE_NONE ||
        dtype_of(src.scalar_type()) == OSC_DTYPE_NONE) {
        return false;
    }
    launch.add(src);
    launch.result(dst);
    return launch.run();
}

void cpu_to_device(const at::Tensor &dst, const at::Tensor &src, bool non_blocking)
{
    if (dense(dst)) {
        at::Tensor laid_out = src;
        if (src.scalar_type() != dst.scalar_type() || src.strides() != dst.strides()) {
            laid_out = cpu_like(dst);
            laid_out.copy_(src);
        }
        write_bytes(dst, laid_out.const_data_ptr(), dst.nbytes(), non_blocking);
        return;
    }
    const at::Tensor packed = contiguous_on_device(dst, dst.scalar_type());
    cpu_to_device(packed, src, non_blocking);
    if (copy_by_program(dst, packed)) {
        return;
    }
    const size_t bytes = span_bytes(dst);
    at::Tensor image = cpu_like(dst);
    read_bytes(image.mutable_data_ptr(), dst, bytes);
    image.copy_(src);
    write_bytes(dst, image.const_data_ptr(), bytes, false);
}

void device_to_device(const at::Tensor &dst, const at::Tensor &src)
{
    const bool same_device = dst.device() == src.device();
    const bool same_type = dst.scalar_type() == src.scalar_type();
    if (same_type && dense(dst) && dense(src) && dst.strides() == src.strides()) {
        copy_bytes(dst, src, dst.nbytes());
        return;
    }
    if (same_device) {
        if (!copy_by_program(dst, src)) {
            cpu_to_device(dst, read_to_cpu(src), false);
        }
        return;
    }
    // Pack and cast where the source is, move, then lay out where the destination is.
    at::Tensor packed = src;
    if (!same_type || !src.is_contiguous()) {
        packed = contiguous_on_device(src, dst.scalar_type());
        device_to_device(packed, src);
    }
    if (dst.is_contiguous()) {
        copy_bytes(dst, packed, dst.nbytes());
        return;
    }
    const at::Tensor moved = make_empty(dst.sizes(), dst.scalar_type(), dst.device().index());
    copy_bytes(moved, packed, moved.nbytes());
    device_to_device(dst, moved);
}

void copy_values(const at::Tensor &dst, const at::Tensor &src, bool non_blocking)
{
    if (dst.numel() == 0) {
        return;
    }
    at::assert_no_internal_overlap(dst);
    if (on_device(dst) && on_device(src)) {
        at::assert_no_partial_overlap(dst, src);
        device_to_device(dst, src);
    } else if (on_device(dst)) {
        cpu_to_device(dst, src, non_blocking);
    } else {
        dst.copy_(read_to_cpu(src));
    }
}

at::Tensor copy_from(const at::Tensor &self, const at::Tensor &dst, bool non_blocking)
{
    copy_into(dst, self, non_blocking);
    return dst;
}

at::Tensor copy_from_and_resize(const at::Tensor &self, const at::Tensor &dst)
{
    if (self.sizes() != dst.sizes()) {
        dst.resize_(self.sizes());
    }
    copy_into(dst, self, false);
    return dst;
}

at::Scalar local_scalar(const at::Tensor &self)
{
    TORCH_CHECK(self.numel() == 1, "a Tensor with ", self.numel(),
                " elements cannot be converted to Scalar");
    at::Tensor one = at::empty_strided({}, {}, self.options().device(at::kCPU));
    read_bytes(one.mutable_data_ptr(), self, one.itemsize());
    return one.item();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("_copy_from", TORCH_FN(copy_from));
    m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
    m.impl("_local_scalar_dense", TORCH_FN(local_scalar));
}

// _copy_from resolves these bits itself; the stock fallbacks would call it again for that.
TORCH_LIBRARY_IMPL(aten, Conjugate, m)
{
    m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m)
{
    m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, ZeroTensor, m)
{
    m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

} // namespace

at::Tensor read_to_cpu(const at::Tensor &src)
{
    at::Tensor out = cpu_like(src);
    if (src.numel() == 0) {
        return out;
    }
    const size_t span = span_bytes(src);
    if (dense(src) || span <= 4 * src.nbytes()) {
        read_bytes(out.mutable_data_ptr(), src, span);
        return out;
    }
    // A sparse view of a large storage: gather on the device first.
    const at::Tensor packed = contiguous_on_device(src, src.scalar_type());
    if (copy_by_program(packed, src)) {
        return read_to_cpu(packed);
    }
    read_bytes(out.mutable_data_ptr(), src, span);
    return out;
}

void copy_into(const at::Tensor &dst, const at::Tensor &src, bool non_blocking)
{
    if (src._is_zerotensor()) {
        dst.zero_();
        return;
    }
    const bool conj = dst.is_conj() != src.is_conj();
    const bool neg = dst.is_neg() != src.is_neg();
    const auto plain = [](const at::Tensor &t) {
        const at::Tensor no_conj = t.is_conj() ? t._conj() : t;
        return no_conj.is_neg() ? no_conj._neg_view() : no_conj;
    };
    const at::Tensor to = plain(dst);
    at::Tensor from = plain(src);
    if (from.sizes() != to.sizes()) {
        from = from.expand_as(to);
    }
    copy_values(to, from, non_blocking);
    if (conj) {
        to.conj_physical_();
    }
    if (neg) {
        to.neg_();
    }
}

} // namespace osc
