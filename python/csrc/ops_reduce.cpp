// Reductions, matrix products, softmax, cat.
#include "structured.h"

#include <ATen/ops/_log_softmax_meta.h>
#include <ATen/ops/_log_softmax_ops.h>
#include <ATen/ops/_softmax_meta.h>
#include <ATen/ops/_softmax_ops.h>
#include <ATen/ops/addmm_meta.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/addmv_meta.h>
#include <ATen/ops/addmv_ops.h>
#include <ATen/ops/all_meta.h>
#include <ATen/ops/all_ops.h>
#include <ATen/ops/amax_meta.h>
#include <ATen/ops/amax_ops.h>
#include <ATen/ops/amin_meta.h>
#include <ATen/ops/amin_ops.h>
#include <ATen/ops/any_meta.h>
#include <ATen/ops/any_ops.h>
#include <ATen/ops/baddbmm_meta.h>
#include <ATen/ops/baddbmm_ops.h>
#include <ATen/ops/bmm_meta.h>
#include <ATen/ops/bmm_ops.h>
#include <ATen/ops/cat_meta.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/cumsum_meta.h>
#include <ATen/ops/cumsum_ops.h>
#include <ATen/ops/linalg_vector_norm_meta.h>
#include <ATen/ops/linalg_vector_norm_ops.h>
#include <ATen/ops/mean_meta.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/mm_meta.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/prod_meta.h>
#include <ATen/ops/prod_ops.h>
#include <ATen/ops/sum_meta.h>
#include <ATen/ops/sum_ops.h>

namespace osc
{

template <> inline constexpr bool float_only<at::_ops::_softmax> = true;
template <> inline constexpr bool float_only<at::_ops::_log_softmax> = true;

namespace
{

namespace ops = at::_ops;
namespace meta = at::meta;

// Functional and out form; the names of overloads follow no rule.
#define OSC_BIND_PAIR(m, op, out)                              \
    do {                                                       \
        bind<ops::op, meta::structured_##op>(m);               \
        bind_out<ops::op, ops::out, meta::structured_##op>(m); \
    } while (0)

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    OSC_BIND_PAIR(m, mean_dim, mean_out);
    OSC_BIND_PAIR(m, sum_dim_IntList, sum_IntList_out);
    OSC_BIND_PAIR(m, prod_dim_int, prod_int_out);
    OSC_BIND_PAIR(m, all_dim, all_out);
    OSC_BIND_PAIR(m, all_dims, all_dims_out);
    OSC_BIND_PAIR(m, all, all_all_out);
    OSC_BIND_PAIR(m, any_dim, any_out);
    OSC_BIND_PAIR(m, any_dims, any_dims_out);
    OSC_BIND_PAIR(m, any, any_all_out);
    OSC_BIND_PAIR(m, amax, amax_out);
    OSC_BIND_PAIR(m, amin, amin_out);
    OSC_BIND_PAIR(m, linalg_vector_norm, linalg_vector_norm_out);
    OSC_BIND_PAIR(m, cumsum, cumsum_out);
    OSC_BIND_PAIR(m, mm, mm_out);
    OSC_BIND_PAIR(m, bmm, bmm_out);
    OSC_BIND_PAIR(m, addmm, addmm_out);
    OSC_BIND_PAIR(m, baddbmm, baddbmm_out);
    OSC_BIND_PAIR(m, addmv, addmv_out);
    OSC_BIND_PAIR(m, _softmax, _softmax_out);
    OSC_BIND_PAIR(m, _log_softmax, _log_softmax_out);
    OSC_BIND_PAIR(m, cat, cat_out);

    bind_inplace<ops::addmm, ops::addmm_, meta::structured_addmm>(m);
    bind_inplace<ops::baddbmm, ops::baddbmm_, meta::structured_baddbmm>(m);
    bind_inplace<ops::addmv, ops::addmv_, meta::structured_addmv>(m);
    bind_inplace<ops::cumsum, ops::cumsum_, meta::structured_cumsum>(m);
}

} // namespace
} // namespace osc
