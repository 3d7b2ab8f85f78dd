// structured.cpp - what the templates of structured.h share: checks and resizing of results.
#include "structured.h"

namespace osc
{

void check_inplace(const at::Tensor &self, at::IntArrayRef size, const at::TensorOptions &options)
{
    TORCH_CHECK(options.dtype() == self.dtype(), "Bad in-place call: input tensor dtype ",
                self.dtype(), " and output tensor dtype ", options.dtype(), " should match");
    TORCH_CHECK(options.device() == self.device(), "Bad in-place call: input tensor device ",
                self.device(), " and output tensor device ", options.device(), " should match");
    TORCH_CHECK(size == self.sizes(), "Bad in-place call: input tensor size ", self.sizes(),
                " and output tensor size ", size, " should match");
}

void resize_out(const at::Tensor &out, at::IntArrayRef size, at::IntArrayRef stride,
                const at::TensorOptions &options)
{
    TORCH_CHECK(options.dtype() == out.dtype(), "Expected out tensor to have dtype ",
                options.dtype(), ", but got ", out.dtype(), " instead");
    TORCH_CHECK(options.device() == out.device(), "Expected out tensor to have device ",
                options.device(), ", but got ", out.device(), " instead");
    if (!at::native::resize_output(out, size)) {
        return;
    }
    if (!stride.empty()) {
        out.as_strided_(size, stride);
    } else if (options.memory_format_opt().has_value()) {
        out.unsafeGetTensorImpl()->empty_tensor_restride(*options.memory_format_opt());
    }
}

bool overlaps(const at::Tensor &out, const at::Tensor &operand)
{
    return out.defined() && operand.defined() && on_device(operand) &&
           out.storage().is_alias_of(operand.storage());
}

} // namespace osc
