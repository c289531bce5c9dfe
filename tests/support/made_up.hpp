// Values for what a model or its loss takes.
#pragma once

#include "kernels/layers/layer_values.hpp"
#include "kernels/tensor/tensor.hpp"
#include "schemas/base/random.hpp"

namespace troupe::test {

// (samples, shape...) of uniform numbers from 0 to 1, or of tokens that the value may have.
inline tensor made_up(memory_pool& pool, const value_form& form, std::size_t samples,
                      std::uint64_t seed) {
    tensor t = tensor::allocate(pool, form.type, batch_of(samples, form.shape)).value();
    random_stream random{seed};
    if (form.type == data_type::int32)
        for (auto& x : t.mutable_values<std::int32_t>())
            x = static_cast<std::int32_t>(random.below(form.values));
    else
        for (float& x : t.mutable_values<float>())
            x = static_cast<float>(random.uniform());
    return t;
}

} // namespace troupe::test
