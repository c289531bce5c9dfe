// Runs of cases with made-up operands, and how their results are judged.
#pragma once

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

#include "tests/conformance/operations_cases.hpp"
#include "tests/unit/kernels/models.hpp"

namespace troupe::test {

// Values that differ by at least 0.02, none nearer to 0 than 0.01, in random order.
inline tensor spaced_tensor(memory_pool& pool, const tensor_shape& shape, std::uint64_t seed) {
    tensor t = tensor::allocate(pool, data_type::float32, shape).value();
    const auto values = t.mutable_values<float>();
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = (static_cast<float>(i) - static_cast<float>(values.size() / 2) + 0.5f) * 0.02f;
    random_stream random{seed};
    for (std::size_t i = values.size(); i > 1; --i)
        std::swap(values[i - 1], values[random.below(i)]);
    return t;
}

inline std::vector<tensor> inputs_of(memory_pool& pool, const operation_case& row) {
    std::vector<tensor> inputs;
    for (const auto& shape : row.input_shapes())
        inputs.push_back(row.has_kinks() && row.input_shapes().size() == 1
                             ? spaced_tensor(pool, shape, inputs.size() + 1)
                             : random_tensor(pool, shape, inputs.size() + 1));
    return inputs;
}

struct outcome {
    std::vector<tensor> outputs, gradients;
};

inline outcome run(compute_context& context, const operation_case& row,
                   const std::vector<tensor>& inputs, const tensor& output_gradient) {
    auto prepared = row.prepare(context, inputs, output_gradient);
    auto done = prepared.forward();
    BOOST_REQUIRE_MESSAGE(done.ok(), row.name() << ": " << (done ? "" : done.failure().message()));
    outcome all{prepared.outputs(), {}};
    if (prepared.backward) {
        done = prepared.backward();
        BOOST_REQUIRE_MESSAGE(done.ok(), row.name()
                                             << ": " << (done ? "" : done.failure().message()));
        all.gradients = prepared.gradients();
    }
    return all;
}

// Within a share of the largest.
inline void check_close(const std::vector<tensor>& given, const std::vector<tensor>& expected,
                        float tolerance, const std::string& what) {
    BOOST_REQUIRE(given.size() == expected.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
        const auto a = given[i].values<float>();
        const auto b = expected[i].values<float>();
        BOOST_REQUIRE(a.size() == b.size());
        float scale = 1e-3f;
        for (float x : b)
            scale = std::max(scale, std::abs(x));
        float worst = 0;
        for (std::size_t e = 0; e < a.size(); ++e)
            worst = std::isfinite(a[e]) && std::isfinite(b[e])
                        ? std::max(worst, std::abs(a[e] - b[e]))
                        : INFINITY; // also where the reference left what it was given
        BOOST_TEST(worst <= tolerance * scale,
                   what << " " << i << " is off by " << worst << " of " << scale);
    }
}

} // namespace troupe::test
