// A neuron generator holds a CPU generator with the same seed and lets it produce all values, so a
// script gives the same numbers on both devices. The rejected alternative, an own counter-based
// generator on the device, would be faster for large tensors and differ from the CPU in every value.
#include "generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GeneratorImpl.h>

#include <mutex>
#include <vector>

#include "runtime.h"

namespace osc
{
namespace
{

class NeuronGenerator final : public c10::GeneratorImpl
{
  public:
    NeuronGenerator(c10::DeviceIndex device, at::Generator values)
        : GeneratorImpl(c10::Device(c10::DeviceType::PrivateUse1, device),
                        c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
          values_(std::move(values))
    {
    }

    const at::Generator &values() const
    {
        return values_;
    }
    void set_current_seed(uint64_t seed) override
    {
        values_.set_current_seed(seed);
    }
    void set_offset(uint64_t) override
    {
        TORCH_CHECK(false, "a neuron generator has no offset: it follows the CPU generator, "
                           "use get_state and set_state");
    }
    uint64_t get_offset() const override
    {
        TORCH_CHECK(false, "a neuron generator has no offset: it follows the CPU generator, "
                           "use get_state and set_state");
    }
    uint64_t current_seed() const override
    {
        return values_.current_seed();
    }
    uint64_t seed() override
    {
        return values_.unsafeGetGeneratorImpl()->seed();
    }
    void set_state(const c10::TensorImpl &state) override
    {
        values_.unsafeGetGeneratorImpl()->set_state(state);
    }
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override
    {
        return values_.unsafeGetGeneratorImpl()->get_state();
    }

  private:
    NeuronGenerator *clone_impl() const override
    {
        return new NeuronGenerator(device_.index(), values_.clone());
    }
    at::Generator values_;
};

std::vector<at::Generator> make_defaults()
{
    std::vector<at::Generator> made;
    for (c10::DeviceIndex i = 0; i < device_count(); i++) {
        made.push_back(new_generator(i));
    }
    return made;
}

} // namespace

at::Generator new_generator(c10::DeviceIndex device)
{
    return at::make_generator<NeuronGenerator>(resolve_device(device),
                                               at::detail::createCPUGenerator());
}

const at::Generator &default_generator(c10::DeviceIndex device)
{
    static const auto *defaults = new std::vector<at::Generator>(make_defaults());
    return (*defaults)[static_cast<size_t>(resolve_device(device))];
}

at::Generator value_generator(const std::optional<at::Generator> &given, c10::DeviceIndex device)
{
    if (!given.has_value() || !given->defined()) {
        return default_generator(device).get<NeuronGenerator>()->values();
    }
    TORCH_CHECK(given->device().type() == c10::DeviceType::PrivateUse1,
                "Expected a 'neuron' device type for generator but found '", given->device().type(),
                "'");
    return given->get<NeuronGenerator>()->values();
}

} // namespace osc
