// rms_norm and layer_norm: one launch forward, a decomposition on the device backward.
//
// _fused_rms_norm_backward has no CPU kernel (pytorch-adapter.md 1.4), so a fallback cannot serve
// training; both derivatives are a dozen device operators instead, computed in float.
#include "structured.h"

#include <ATen/TensorOperators.h>
#include <ATen/native/layer_norm.h>
#include <ATen/ops/_fused_rms_norm_ops.h>
#include <ATen/ops/native_layer_norm_ops.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>

#include <limits>

namespace osc
{
namespace
{

const at::Tensor none;

const at::Tensor &or_none(const std::optional<at::Tensor> &t)
{
    return t.has_value() ? *t : none;
}

// Sizes of the per-row statistics: the normalised dimensions become 1.
std::vector<int64_t> row_sizes(const at::Tensor &input, size_t normalized)
{
    std::vector<int64_t> size = input.sizes().vec();
    for (size_t i = size.size() - normalized; i < size.size(); i++) {
        size[i] = 1;
    }
    return size;
}

std::vector<int64_t> last_dims(const at::Tensor &input, size_t normalized)
{
    std::vector<int64_t> dims;
    for (int64_t i = input.dim() - static_cast<int64_t>(normalized); i < input.dim(); i++) {
        dims.push_back(i);
    }
    return dims;
}

at::Tensor as_float(const at::Tensor &t)
{
    return t.scalar_type() == at::kDouble ? t : t.to(at::kFloat);
}

// Sum over all dimensions before the normalised ones.
at::Tensor sum_rows(const at::Tensor &t, size_t normalized, at::ScalarType type)
{
    std::vector<int64_t> dims;
    for (int64_t i = 0; i < t.dim() - static_cast<int64_t>(normalized); i++) {
        dims.push_back(i);
    }
    return (dims.empty() ? t : t.sum(dims)).to(type);
}

Site &rms_site()
{
    static Site site("aten::_fused_rms_norm", "aten::_fused_rms_norm");
    return site;
}

std::tuple<at::Tensor, at::Tensor> rms_norm(const at::Tensor &input, at::IntArrayRef shape,
                                            const std::optional<at::Tensor> &weight,
                                            std::optional<double> eps)
{
    Launch launch(rms_site());
    at::native::_check_rms_norm_inputs_symint(input, c10::fromIntArrayRefSlow(shape),
                                              or_none(weight));
    launch.consider(input);
    launch.consider(weight);
    const bool same = !or_none(weight).defined() || weight->scalar_type() == input.scalar_type();
    if (launch.acceptable() && same && at::isFloatingType(input.scalar_type())) {
        const at::Tensor y = make_empty(input.sizes(), input.scalar_type(), launch.device());
        const at::Tensor rstd =
            make_empty(row_sizes(input, shape.size()), at::kFloat, launch.device());
        launch.add(input);
        launch.add(shape);
        launch.add(weight);
        launch.add(eps.value_or(std::numeric_limits<float>::epsilon()));
        launch.result(y);
        launch.result(rstd);
        if (y.numel() != 0 && launch.run()) {
            return {y, rstd};
        }
    }
    return Fallback<at::_ops::_fused_rms_norm>::call(input, shape, weight, eps);
}

// y = x r w with r = rstd:  dx = r (g w - x r mean(g w x r)),  dw = sum over rows of g x r.
std::tuple<at::Tensor, at::Tensor> rms_norm_backward(const at::Tensor &grad,
                                                     const at::Tensor &input, at::IntArrayRef shape,
                                                     const at::Tensor &rstd,
                                                     const std::optional<at::Tensor> &weight,
                                                     std::array<bool, 2> mask)
{
    const at::Tensor &w = or_none(weight);
    const at::Tensor g = as_float(grad);
    const at::Tensor r = as_float(rstd);
    const at::Tensor x_hat = as_float(input) * r;
    at::Tensor dx;
    if (mask[0]) {
        const at::Tensor gw = w.defined() ? g * as_float(w) : g;
        const at::Tensor projection = (gw * x_hat).mean(last_dims(input, shape.size()), true);
        dx = ((gw - x_hat * projection) * r).to(input.scalar_type());
    }
    at::Tensor dw;
    if (mask[1] && w.defined()) {
        dw = sum_rows(g * x_hat, shape.size(), w.scalar_type());
    }
    return {dx, dw};
}

Site &layer_site()
{
    static Site site("aten::native_layer_norm", "aten::native_layer_norm");
    return site;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm(const at::Tensor &input,
                                                          at::IntArrayRef shape,
                                                          const std::optional<at::Tensor> &weight,
                                                          const std::optional<at::Tensor> &bias,
                                                          double eps)
{
    Launch launch(layer_site());
    at::native::_check_layer_norm_inputs(input, shape, or_none(weight), or_none(bias));
    launch.consider(input);
    launch.consider(weight);
    launch.consider(bias);
    if (launch.acceptable() && at::isFloatingType(input.scalar_type()) && input.numel() != 0) {
        const at::Tensor y = make_empty(input.sizes(), input.scalar_type(), launch.device());
        const std::vector<int64_t> rows = row_sizes(input, shape.size());
        const at::Tensor mean = make_empty(rows, at::kFloat, launch.device());
        const at::Tensor rstd = make_empty(rows, at::kFloat, launch.device());
        launch.add(input);
        launch.add(shape);
        launch.add(weight);
        launch.add(bias);
        launch.add(eps);
        launch.result(y);
        launch.result(mean);
        launch.result(rstd);
        if (launch.run()) {
            return {y, mean, rstd};
        }
    }
    return Fallback<at::_ops::native_layer_norm>::call(input, shape, weight, bias, eps);
}

// y = h w + b with h = (x - mean) r:  dx = r (g w - mean(g w) - h mean(g w h)).
std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_backward(
    const at::Tensor &grad, const at::Tensor &input, at::IntArrayRef shape, const at::Tensor &mean,
    const at::Tensor &rstd, const std::optional<at::Tensor> &weight,
    const std::optional<at::Tensor> &bias, std::array<bool, 3> mask)
{
    const at::Tensor &w = or_none(weight);
    const at::Tensor g = as_float(grad);
    const at::Tensor r = as_float(rstd);
    const at::Tensor h = (as_float(input) - as_float(mean)) * r;
    at::Tensor dx;
    if (mask[0]) {
        const std::vector<int64_t> dims = last_dims(input, shape.size());
        const at::Tensor gw = w.defined() ? g * as_float(w) : g;
        dx = ((gw - gw.mean(dims, true) - h * (gw * h).mean(dims, true)) * r)
                 .to(input.scalar_type());
    }
    at::Tensor dw;
    if (mask[1] && w.defined()) {
        dw = sum_rows(g * h, shape.size(), w.scalar_type());
    }
    at::Tensor db;
    if (mask[2] && or_none(bias).defined()) {
        db = sum_rows(g, shape.size(), bias->scalar_type());
    }
    return {dx, dw, db};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("_fused_rms_norm", TORCH_FN(rms_norm));
    m.impl("_fused_rms_norm_backward", TORCH_FN(rms_norm_backward));
    m.impl("native_layer_norm", TORCH_FN(layer_norm));
    m.impl("native_layer_norm_backward", TORCH_FN(layer_norm_backward));
}

} // namespace
} // namespace osc
