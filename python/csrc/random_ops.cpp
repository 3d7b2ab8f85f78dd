// Random operators: values come from the CPU generator inside the device's generator.
//
// In-place fills (normal_, uniform_, ...) draw into a CPU tensor of the same layout and write it
// once: nothing is read from the device, and a strided tensor gets the same values as on the CPU.
// The others read operands (probabilities, counts), so they are CPU fallbacks with the generator
// exchanged, and counted as such.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/record_function.h>
#include <torch/library.h>

#include <optional>
#include <tuple>

#include "copy.h"
#include "fallback.h"
#include "generator.h"
#include "tensor.h"

namespace osc
{
namespace
{

// Replaces every generator argument of the call on top of the stack.
void use_cpu_generator(const c10::OperatorHandle &op, torch::jit::Stack *stack,
                       c10::DeviceIndex device)
{
    const auto &arguments = op.schema().arguments();
    const size_t begin = stack->size() - arguments.size();
    for (size_t i = 0; i < arguments.size(); i++) {
        if (arguments[i].name() == "generator") {
            c10::IValue &value = (*stack)[begin + i];
            value = value_generator(value.toOptional<at::Generator>(), device);
        }
    }
}

c10::DeviceIndex device_of_call(const c10::OperatorHandle &op, const torch::jit::Stack &stack)
{
    for (size_t i = stack.size() - op.schema().arguments().size(); i < stack.size(); i++) {
        if (stack[i].isTensor() && on_device(stack[i].toTensor())) {
            return stack[i].toTensor().device().index();
        }
    }
    return -1;
}

void fill_random(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
    const size_t begin = stack->size() - op.schema().arguments().size();
    const at::Tensor self = (*stack)[begin].toTensor();
    // A neuron generator alone brings a CPU tensor here.
    TORCH_CHECK(on_device(self), "Expected a '", self.device().type(),
                "' device type for generator but found 'neuron'");
    use_cpu_generator(op, stack, self.device().index());
    const at::Tensor values =
        at::empty_strided(self.sizes(), self.strides(), self.options().device(at::kCPU));
    (*stack)[begin] = values;
    {
        const at::RecordFunctionGuard no_second_row(false);
        op.callBoxed(stack);
    }
    copy_into(self, values, false);
    stack->back() = self;
}

void random_fallback(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
    use_cpu_generator(op, stack, device_of_call(op, *stack));
    counted_fallback(op, stack);
}

at::Tensor &randperm_out(int64_t n, std::optional<at::Generator> generator, at::Tensor &out)
{
    const at::Generator values = value_generator(generator, out.device().index());
    out.resize_({n});
    const at::Tensor drawn = at::empty_strided({n}, {1}, out.options().device(at::kCPU));
    static const auto op =
        c10::Dispatcher::singleton()
            .findSchemaOrThrow("aten::randperm", "generator_out")
            .typed<at::Tensor &(c10::SymInt, std::optional<at::Generator>, at::Tensor &)>();
    at::Tensor target = drawn;
    {
        const at::RecordFunctionGuard no_second_row(false);
        op.call(n, values, target);
    }
    copy_into(out, drawn, false);
    return out;
}

// The CPU's formula, with the mask from the device's generator: the operator takes none, and its
// CPU kernel would draw from the CPU's default one.
std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor &input, double p,
                                                  std::optional<bool> train)
{
    const at::Tensor mask = at::empty_like(input, input.options().dtype(at::kBool));
    if (!train.value_or(true)) {
        return {input.clone(), mask.fill_(true)};
    }
    const double keep = 1 - p;
    mask.bernoulli_(keep);
    return {input.mul(mask).mul_(keep == 0 ? 0 : 1 / keep), mask};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    for (const char *name :
         {"normal_", "uniform_", "random_", "random_.from", "random_.to", "exponential_", "cauchy_",
          "log_normal_", "geometric_", "bernoulli_.float"}) {
        m.impl(name, torch::CppFunction::makeFromBoxedFunction<&fill_random>());
    }
    for (const char *name :
         {"bernoulli", "bernoulli.out", "bernoulli_.Tensor", "multinomial", "multinomial.out",
          "poisson", "binomial", "_standard_gamma", "_sample_dirichlet", "normal.Tensor_float",
          "normal.Tensor_float_out", "normal.float_Tensor", "normal.float_Tensor_out",
          "normal.Tensor_Tensor", "normal.Tensor_Tensor_out", "rrelu_with_noise",
          "rrelu_with_noise.out", "rrelu_with_noise_", "_fused_dropout"}) {
        m.impl(name, torch::CppFunction::makeFromBoxedFunction<&random_fallback>());
    }
    m.impl("randperm.generator_out", TORCH_FN(randperm_out));
    m.impl("native_dropout", TORCH_FN(native_dropout));
}

} // namespace
} // namespace osc
