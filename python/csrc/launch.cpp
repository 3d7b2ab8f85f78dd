// launch.cpp - arguments of an operator, collected in schema order; see launch.h.
#include "launch.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "runtime.h"
#include "tensor.h"

namespace osc
{
namespace
{

struct Sites {
    std::mutex mutex; // guards all; taken at registration and by queries, never by a launch
    std::vector<Site *> all;
};

Sites &sites()
{
    static auto *instance = new Sites;
    return *instance;
}

std::atomic<bool> &baking()
{
    static std::atomic<bool> on{[] {
        const char *v = std::getenv("OPSCOPE_BAKE_SCALARS");
        return v && std::strcmp(v, "1") == 0;
    }()};
    return on;
}

// A CPU number as the value a kernel of the given type would see.
double rounded_to(at::ScalarType type, double value)
{
    switch (type) {
    case at::kBFloat16: return static_cast<float>(c10::BFloat16(static_cast<float>(value)));
    case at::kHalf: return static_cast<float>(c10::Half(static_cast<float>(value)));
    default: return static_cast<double>(static_cast<float>(value));
    }
}

int32_t wrapped_to(at::ScalarType type, int64_t value)
{
    switch (type) {
    case at::kBool: return value != 0;
    case at::kByte: return static_cast<uint8_t>(value);
    case at::kChar: return static_cast<int8_t>(value);
    case at::kShort: return static_cast<int16_t>(value);
    default: return static_cast<int32_t>(value);
    }
}

template <class T> T first(const at::Tensor &t)
{
    return *t.const_data_ptr<T>();
}

// Value of a 0-d CPU tensor. Not item(): that would add an operator row to the profile.
at::Scalar number(const at::Tensor &t)
{
    switch (t.scalar_type()) {
    case at::kBool: return first<bool>(t);
    case at::kByte: return static_cast<int64_t>(first<uint8_t>(t));
    case at::kChar: return static_cast<int64_t>(first<int8_t>(t));
    case at::kShort: return static_cast<int64_t>(first<int16_t>(t));
    case at::kInt: return static_cast<int64_t>(first<int32_t>(t));
    case at::kLong: return first<int64_t>(t);
    case at::kHalf: return static_cast<double>(first<c10::Half>(t));
    case at::kBFloat16: return static_cast<double>(first<c10::BFloat16>(t));
    case at::kFloat: return static_cast<double>(first<float>(t));
    default: return first<double>(t);
    }
}

bool is_plain_number(const at::Tensor &t)
{
    return (computes(t.scalar_type()) || t.scalar_type() == at::kLong ||
            t.scalar_type() == at::kDouble) &&
           !t.is_neg() && !t._is_zerotensor();
}

[[noreturn]] void mixed(const at::Device &a, const at::Device &b)
{
    TORCH_CHECK(false,
                "Expected all tensors to be on the same device, but found at least two devices, ",
                a, " and ", b, "!");
}

} // namespace

void set_bake_scalars(bool on)
{
    baking().store(on, std::memory_order_relaxed);
}

bool bake_scalars()
{
    return baking().load(std::memory_order_relaxed);
}

Site::Site(const char *lowering_name, const char *label_name)
    : lowering(lowering_name), label(label_name)
{
    Sites &s = sites();
    std::lock_guard<std::mutex> guard(s.mutex);
    s.all.push_back(this);
}

bool Site::has_lowering()
{
    int known = lowered_.load(std::memory_order_relaxed);
    if (known < 0) {
        known = osc_nrt_has_op(lowering) ? 1 : 0;
        lowered_.store(known, std::memory_order_relaxed);
    }
    return known == 1;
}

std::vector<std::string> Site::executed()
{
    Sites &s = sites();
    std::lock_guard<std::mutex> guard(s.mutex);
    std::vector<std::string> names;
    for (const Site *site : s.all) {
        if (site->launches.load(std::memory_order_relaxed) != 0) {
            names.emplace_back(site->label);
        }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

void Site::clear()
{
    Sites &s = sites();
    std::lock_guard<std::mutex> guard(s.mutex);
    for (Site *site : s.all) {
        site->launches.store(0, std::memory_order_relaxed);
    }
}

bool Site::known(const std::string &label)
{
    Sites &s = sites();
    std::lock_guard<std::mutex> guard(s.mutex);
    return std::any_of(s.all.begin(), s.all.end(),
                       [&](const Site *site) { return label == site->label; });
}

Launch::Launch(Site &site) : site_(site), facts_(facts(site.label, now_ns()))
{
    acceptable_ = site.has_lowering();
}

Launch::~Launch()
{
    for (void *block : scalars_) {
        osc_nrt_free(block); // stream-ordered: the queued operator still reads it first
    }
}

void Launch::consider(const at::Tensor &t)
{
    if (!t.defined()) {
        return;
    }
    if (!on_device(t)) {
        if (t.dim() != 0 || !t.is_cpu()) {
            mixed(at::Device(c10::DeviceType::PrivateUse1, std::max<c10::DeviceIndex>(device_, 0)),
                  t.device());
        }
        acceptable_ = acceptable_ && is_plain_number(t);
        return;
    }
    const c10::DeviceIndex index = t.device().index();
    if (device_ < 0) {
        device_ = index;
    } else if (device_ != index) {
        mixed(at::Device(c10::DeviceType::PrivateUse1, device_), t.device());
    }
    acceptable_ = acceptable_ && computes(t.scalar_type()) &&
                  (!floats_only_ || at::isFloatingType(t.scalar_type())) &&
                  t.dim() <= OSC_MAX_RANK && t.layout() == at::kStrided && !t.is_neg() &&
                  !t._is_zerotensor();
}

bool Launch::acceptable_result(const at::Tensor &t) const
{
    return !t.defined() || (on_device(t) && computes(t.scalar_type()) && t.dim() <= OSC_MAX_RANK);
}

osc_arg &Launch::next(osc_arg_kind kind)
{
    args_.emplace_back();
    osc_arg &arg = args_.back();
    arg.kind = kind;
    arg.tensor = OSC_NO_VALUE;
    arg.i = 0;
    arg.f = 0;
    arg.ints = nullptr;
    arg.count = 0;
    return arg;
}

uint32_t Launch::tensor(const at::TensorBase &t, osc_dtype dtype)
{
    tensors_.push_back(describe(t, dtype));
    return static_cast<uint32_t>(tensors_.size() - 1);
}

void Launch::add_none()
{
    next(OSC_ARG_NONE);
}

void Launch::add(const at::Tensor &t)
{
    if (!t.defined()) {
        add_none();
    } else if (on_device(t)) {
        const uint32_t index = tensor(t, dtype_of(t.scalar_type()));
        next(OSC_ARG_TENSOR).tensor = index;
    } else {
        add_number(t);
    }
}

void Launch::add_moved(const at::Tensor &t)
{
    const uint32_t index = tensor(t, move_dtype_of(t.scalar_type()));
    next(OSC_ARG_TENSOR).tensor = index;
}

void Launch::add_number(const at::Tensor &t)
{
    const at::Scalar value = number(t);
    if (at::isFloatingType(compute_)) {
        const double f =
            use_ == ScalarUse::exact ? value.toDouble() : rounded_to(compute_, value.toDouble());
        if (bake_scalars()) {
            next(OSC_ARG_FLOAT).f = f;
            return;
        }
        const float written = static_cast<float>(f);
        write_scalar(OSC_F32, &written);
        return;
    }
    const int64_t i =
        value.isFloatingPoint() ? static_cast<int64_t>(value.toDouble()) : value.toLong();
    const int32_t written = wrapped_to(compute_, i);
    // A bool tensor beside a number of more than 32 bits.
    if (compute_ == at::kLong && written != i) {
        acceptable_ = false;
        add_none();
        return;
    }
    if (bake_scalars()) {
        next(OSC_ARG_INT).i = written;
        return;
    }
    write_scalar(OSC_I32, &written);
}

void Launch::write_scalar(osc_dtype dtype, const void *value)
{
    const int64_t stream = current_stream(device_);
    void *block = nullptr;
    Err err;
    check(osc_nrt_alloc(device_, stream, 4, &block, err), err);
    scalars_.push_back(block);
    check(osc_nrt_write(device_, stream, block, value, 4, true, &facts_, err), err);
    osc_nrt_tensor d;
    d.address = block;
    d.dtype = dtype;
    d.rank = 0;
    d.size = nullptr;
    d.stride = nullptr;
    tensors_.push_back(d);
    next(OSC_ARG_TENSOR).tensor = static_cast<uint32_t>(tensors_.size() - 1);
}

void Launch::add(const std::optional<at::Tensor> &t)
{
    if (t.has_value()) {
        add(*t);
    } else {
        add_none();
    }
}

void Launch::add(const at::ITensorListRef &list)
{
    std::vector<int64_t> numbers;
    for (const at::Tensor &t : list) {
        numbers.push_back(tensor(t, dtype_of(t.scalar_type())));
    }
    lists_.push_back(std::move(numbers));
    osc_arg &arg = next(OSC_ARG_TENSORS);
    arg.ints = lists_.back().data();
    arg.count = static_cast<uint32_t>(lists_.back().size());
}

void Launch::add(const at::Scalar &s)
{
    if (s.isFloatingPoint()) {
        next(OSC_ARG_FLOAT).f = s.toDouble();
    } else if (s.isComplex()) {
        acceptable_ = false;
        add_none();
    } else {
        // An integer that the operator's type cannot hold: the CPU has the rules.
        const bool fits =
            !at::isIntegralType(compute_, true) || wrapped_to(compute_, s.toLong()) == s.toLong();
        acceptable_ = acceptable_ && fits;
        next(OSC_ARG_INT).i = s.toLong();
    }
}

void Launch::add(const std::optional<at::Scalar> &s)
{
    if (s.has_value()) {
        add(*s);
    } else {
        add_none();
    }
}

void Launch::add(int64_t i)
{
    next(OSC_ARG_INT).i = i;
}

void Launch::add(double f)
{
    next(OSC_ARG_FLOAT).f = f;
}

void Launch::add(std::optional<double> f)
{
    if (f.has_value()) {
        add(*f);
    } else {
        add_none();
    }
}

void Launch::add(std::optional<int64_t> i)
{
    if (i.has_value()) {
        add(*i);
    } else {
        add_none();
    }
}

void Launch::add(at::IntArrayRef ints)
{
    osc_arg &arg = next(OSC_ARG_INTS);
    arg.ints = ints.data();
    arg.count = static_cast<uint32_t>(ints.size());
}

void Launch::add(at::OptionalIntArrayRef ints)
{
    if (ints.has_value()) {
        add(*ints);
    } else {
        add_none();
    }
}

void Launch::add(at::ScalarType type)
{
    next(OSC_ARG_INT).i = dtype_of(type);
}

void Launch::add(std::optional<at::ScalarType> type)
{
    if (type.has_value()) {
        add(*type);
    } else {
        add_none();
    }
}

// The only texts in the allow-list: gelu's approximate and div's rounding_mode, as numbers.
void Launch::add(std::string_view text)
{
    if (text == "none") {
        add(static_cast<int64_t>(0));
    } else if (text == "tanh" || text == "trunc") {
        add(static_cast<int64_t>(1));
    } else if (text == "floor") {
        add(static_cast<int64_t>(2));
    } else {
        acceptable_ = false;
        add_none();
    }
}

void Launch::add(const std::optional<std::string_view> &text)
{
    if (text.has_value()) {
        add(*text);
    } else {
        add_none();
    }
}

void Launch::result(const at::Tensor &t)
{
    outs_.push_back(t.defined() ? tensor(t, dtype_of(t.scalar_type())) : OSC_NO_VALUE);
}

void Launch::result_moved(const at::Tensor &t)
{
    outs_.push_back(tensor(t, move_dtype_of(t.scalar_type())));
}

bool Launch::run()
{
    if (!acceptable()) {
        return false;
    }
    osc_nrt_call call;
    call.size = sizeof call;
    call.name = site_.lowering;
    call.tensors = tensors_.data();
    call.ntensors = static_cast<uint32_t>(tensors_.size());
    call.args = args_.data();
    call.nargs = static_cast<uint32_t>(args_.size());
    call.outs = outs_.data();
    call.nouts = static_cast<uint32_t>(outs_.size());
    Err err;
    const osc_status status = osc_nrt_run_op(device_, current_stream(device_), &call, &facts_, err);
    if (status == OSC_EUNSUPPORTED) {
        return false;
    }
    check(status, err);
    site_.launches.fetch_add(1, std::memory_order_relaxed);
    return true;
}

} // namespace osc
