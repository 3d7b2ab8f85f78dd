// fill_, zero_, masked_fill: constants into device memory.
//
// A constant into a dense block is a transfer from a constant pattern, no program; into a strided
// view it is one filled element, copied with stride 0.
#include <ATen/Dispatch_v2.h>
#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <array>
#include <cstring>

#include "copy.h"
#include "runtime.h"
#include "tensor.h"

namespace osc
{
namespace
{

struct Pattern {
    std::array<char, 16> bytes{};
    uint32_t size = 0;
};

// The scalar as one element; PyTorch's own range errors.
Pattern pattern_of(const at::Scalar &value, at::ScalarType type)
{
    Pattern p;
    AT_DISPATCH_V2(type, "fill_", AT_WRAP([&] {
                       const auto v = value.to<scalar_t>();
                       std::memcpy(p.bytes.data(), &v, sizeof v);
                       p.size = sizeof v;
                   }),
                   AT_EXPAND(AT_ALL_TYPES_AND_COMPLEX), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES),
                   AT_EXPAND(AT_FLOAT8_TYPES), at::kBool, at::kHalf, at::kBFloat16,
                   at::kComplexHalf);
    return p;
}

void fill_dense(const at::Tensor &self, const Pattern &p)
{
    const c10::DeviceIndex device = self.device().index();
    const osc_nrt_op op = facts("neuron::fill", now_ns());
    Err err;
    check(osc_nrt_fill(device, current_stream(device), const_cast<void *>(self.const_data_ptr()),
                       static_cast<uint64_t>(self.numel()), p.bytes.data(), p.size, &op, err),
          err);
}

// Every element of an expanded tensor once; a copy would refuse to write it several times.
at::Tensor without_repeats(at::Tensor t)
{
    for (int64_t d = 0; d < t.dim(); d++) {
        if (t.stride(d) == 0 && t.size(d) > 1) {
            t = t.narrow(d, 0, 1);
        }
    }
    return t;
}

at::Tensor &fill_scalar(at::Tensor &self, const at::Scalar &value)
{
    if (self.numel() == 0) {
        return self;
    }
    const Pattern p = pattern_of(value, self.scalar_type());
    const at::Tensor target = without_repeats(self);
    if (target.is_non_overlapping_and_dense()) {
        fill_dense(target, p);
        return self;
    }
    const at::Tensor one = make_empty({}, self.scalar_type(), self.device().index());
    fill_dense(one, p);
    copy_into(target, one, true);
    return self;
}

at::Tensor &fill_tensor(at::Tensor &self, const at::Tensor &value)
{
    TORCH_CHECK(value.dim() == 0,
                "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(),
                " dimensions.");
    copy_into(self, value, true);
    return self;
}

at::Tensor &zero(at::Tensor &self)
{
    return fill_scalar(self, 0);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("fill_.Scalar", TORCH_FN(fill_scalar));
    m.impl("fill_.Tensor", TORCH_FN(fill_tensor));
    m.impl("zero_", TORCH_FN(zero));
}

} // namespace
} // namespace osc
