// One ATen operator on its way to the C runtime: osc_nrt_run_op.
//
// A kernel creates a Launch when it is entered, lets PyTorch infer the result (structured.h), hands
// over its arguments in schema order and runs. Where there is no lowering the caller falls back to
// the CPU; nothing here guesses. Scalars that PyTorch wraps as 0-d CPU tensors travel as a 4-byte
// write to the device ahead of the operator (torchneuron-face.md 4.3), or as immediates when baking
// is on.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <c10/util/OptionalArrayRef.h>
#include <c10/util/SmallVector.h>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "opscope/neuron.h"

namespace osc
{

// Scalars as immediates instead of writes; initial value from OPSCOPE_BAKE_SCALARS.
void set_bake_scalars(bool on);
bool bake_scalars();

// One registered kernel. Static storage; counts its launches.
struct Site {
    // lowering: compiler's name ("aten::mul.Tensor"); label: the profile row ("aten::mul_").
    Site(const char *lowering_name, const char *label_name);

    const char *const lowering;
    const char *const label;
    std::atomic<uint64_t> launches{0};

    // Whether the compiler has this operator at all; asked once.
    bool has_lowering();
    // Sorted labels of the kernels that launched since start or clear.
    static std::vector<std::string> executed();
    static void clear();
    // Whether some kernel carries this label.
    static bool known(const std::string &label);

  private:
    std::atomic<int> lowered_{-1}; // -1: not asked yet
};

// How a wrapped number takes part in a computation of a 16-bit type: CPU kernels use it rounded to
// that type, except those that compute in float and round once.
enum class ScalarUse { rounded, exact };

class Launch
{
  public:
    explicit Launch(Site &site);

    // Integers and booleans will not be acceptable. Before consider().
    void floats_only()
    {
        floats_only_ = true;
    }
    // Looks at an operand before shapes are inferred. Notes the device; throws PyTorch's text for
    // mixed devices. Anything else than a tensor needs no check.
    void consider(const at::Tensor &t);
    void consider(const std::optional<at::Tensor> &t)
    {
        if (t.has_value()) {
            consider(*t);
        }
    }
    void consider(const at::ITensorListRef &list)
    {
        for (const at::Tensor &t : list) {
            consider(t);
        }
    }
    template <class T> void consider(const T &)
    {
    }
    // True when every operand seen so far can be an operand of a device program.
    bool acceptable() const
    {
        return acceptable_ && device_ >= 0;
    }
    // For operators without checks of their own: names the device, keeps everything acceptable.
    void on(c10::DeviceIndex device)
    {
        device_ = device;
    }
    // Also looks at a result tensor.
    bool acceptable_result(const at::Tensor &t) const;

    // Type in which the operator computes; decides the form of scalars. Before add().
    void compute_in(at::ScalarType type, ScalarUse use)
    {
        compute_ = type;
        use_ = use;
    }
    // Arguments in schema order.
    void add(const at::Tensor &t);
    void add(const std::optional<at::Tensor> &t);
    void add(const at::ITensorListRef &list);
    void add(const at::Scalar &s);
    void add(const std::optional<at::Scalar> &s);
    void add(int64_t i);
    void add(bool b)
    {
        add(static_cast<int64_t>(b));
    }
    void add(double f);
    void add(std::optional<double> f);
    void add(std::optional<int64_t> i);
    void add(at::IntArrayRef ints);
    void add(at::OptionalIntArrayRef ints);
    void add(std::optional<at::ScalarType> type);
    void add(at::ScalarType type);
    void add(std::string_view text);
    void add(const std::optional<std::string_view> &text);
    void add_none();
    // A tensor of an operator that only moves bytes.
    void add_moved(const at::Tensor &t);

    // Results; an undefined tensor is a result nobody needs.
    void result(const at::Tensor &t);
    void result_moved(const at::Tensor &t);

    // Enqueues. False: no lowering for exactly this, nothing was enqueued. Throws on errors.
    bool run();

    c10::DeviceIndex device() const
    {
        return device_;
    }

  private:
    uint32_t tensor(const at::TensorBase &t, osc_dtype dtype);
    osc_arg &next(osc_arg_kind kind);
    void add_number(const at::Tensor &t);
    void write_scalar(osc_dtype dtype, const void *value);

    Site &site_;
    osc_nrt_op facts_;
    c10::DeviceIndex device_ = -1;
    bool acceptable_ = true;
    bool floats_only_ = false;
    at::ScalarType compute_ = at::kFloat;
    ScalarUse use_ = ScalarUse::rounded;
    c10::SmallVector<osc_nrt_tensor, 8> tensors_;
    c10::SmallVector<osc_arg, 8> args_;
    c10::SmallVector<uint32_t, 4> outs_;
    c10::SmallVector<void *, 2> scalars_;     // device blocks of this launch's scalars
    std::vector<std::vector<int64_t>> lists_; // backing of tensor lists

  public:
    ~Launch();
    Launch(const Launch &) = delete;
    Launch &operator=(const Launch &) = delete;
};

} // namespace osc
