#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>

#include "kernels/cpu/recurrent_loops.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::size_t samples = 3;
constexpr std::size_t width = 37; // no multiple of any vector

// What one table of loops makes of the same numbers.
std::vector<float> everything(const cpu::recurrent_loops& loops) {
    random_stream random{1};
    const auto numbers = [&](std::size_t per_sample) {
        std::vector<float> x(samples * per_sample);
        for (float& value : x)
            value = static_cast<float>(random.normal());
        return x;
    };
    const auto of = [](auto& rows) {
        return cpu::sample_rows<std::remove_reference_t<decltype(rows[0])>>{rows.data(),
                                                                            rows.size() / samples};
    };
    std::vector<float> all;
    const auto keep = [&](std::initializer_list<const std::vector<float>*> results) {
        for (const auto* part : results)
            all.insert(all.end(), part->begin(), part->end());
    };
    const auto bias = numbers(4 * width), product = numbers(4 * width), dy = numbers(width),
               before = numbers(width);
    auto gates = numbers(4 * width), state = numbers(width), cell = numbers(width),
         to_gates = numbers(4 * width), to_product = numbers(4 * width), to_state = numbers(width),
         to_cell = numbers(width), to_bias = numbers(4 * width), output = numbers(width),
         cells = numbers(width);
    loops.gru_forward({samples, width, bias.data(), bias.data(), product.data(), of(gates),
                       state.data(), of(output)});
    keep({&gates, &state, &output});
    loops.gru_backward({samples, width, of(std::as_const(gates)), of(before), of(dy),
                        to_state.data(), of(to_gates), to_product.data(), to_bias.data()});
    keep({&to_state, &to_gates, &to_product, &to_bias});
    loops.lstm_forward({samples, width, bias.data(), bias.data(), product.data(), of(gates),
                        state.data(), cell.data(), of(output), of(cells)});
    keep({&gates, &state, &cell, &output, &cells});
    loops.lstm_backward({samples, width, of(std::as_const(gates)), of(std::as_const(cells)),
                         of(before), of(dy), to_state.data(), to_cell.data(), of(to_gates),
                         to_product.data(), to_bias.data()});
    keep({&to_cell, &to_gates, &to_product, &to_bias});
    return all;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct lstm_pass {
    tensor output, cells, gates;
};

// (samples, positions, features) that begins with state and cell, where they are given.
lstm_pass run_lstm(operations& ops, memory_pool& pool, const tensor& input,
                   const std::vector<tensor>& p, const tensor* state, const tensor* cell) {
    const std::size_t n = input.shape()[0], positions = input.shape()[1];
    const std::size_t w = p[1].shape()[1];
    lstm_pass pass{tensor::allocate(pool, data_type::float32, {n, positions, w}).value(),
                   tensor::allocate(pool, data_type::float32, {n, positions, w}).value(),
                   tensor::allocate(pool, data_type::float32, {n, positions, 4 * w}).value()};
    BOOST_REQUIRE(ops.run(lstm_forward{.input = input,
                                       .parameters = {p[0], p[1], p[2], p[3]},
                                       .initial_state = state,
                                       .initial_cell = cell,
                                       .output = pass.output,
                                       .cells = pass.cells,
                                       .gates = pass.gates})
                      .ok());
    return pass;
}

} // namespace

BOOST_AUTO_TEST_SUITE(recurrent)

#if defined(__x86_64__)
BOOST_AUTO_TEST_CASE(every_instruction_set_gives_the_same_bits) {
    const auto expected = everything(cpu::recurrent_loops_baseline);
    if (__builtin_cpu_supports("avx2"))
        BOOST_TEST(same_bits(everything(cpu::recurrent_loops_avx2), expected));
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        BOOST_TEST(same_bits(everything(cpu::recurrent_loops_avx512), expected));
}
#endif

BOOST_AUTO_TEST_CASE(a_sequence_may_be_computed_one_position_at_a_time) {
    operand_pool pool{1 << 20};
    const std::size_t features = 5, w = 6, positions = 4;
    const tensor input = random_tensor(pool, {1, positions, features}, 1);
    const std::vector<tensor> p{random_tensor(pool, {4 * w, features}, 2),
                                random_tensor(pool, {4 * w, w}, 3), random_tensor(pool, {4 * w}, 4),
                                random_tensor(pool, {4 * w}, 5)};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        const auto whole = run_lstm(*ops, pool, input, p, nullptr, nullptr);
        lstm_pass last;
        tensor state, cell;
        for (std::size_t t = 0; t < positions; ++t) {
            const tensor step =
                input.reshaped({positions, features}).rows(t, 1).reshaped({1, 1, features});
            last = run_lstm(*ops, pool, step, p, t > 0 ? &state : nullptr, t > 0 ? &cell : nullptr);
            state = last.output.reshaped({1, w});
            cell = last.cells.reshaped({1, w});
        }
        for (std::size_t j = 0; j < w; ++j)
            BOOST_TEST(std::abs(state.values<float>()[j] -
                                whole.output.values<float>()[(positions - 1) * w + j]) < 1e-6f);
    }
}

BOOST_AUTO_TEST_CASE(parameters_of_another_kind_are_refused) {
    operand_pool pool{1 << 20};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        const std::size_t w = 6;
        const tensor input = random_tensor(pool, {2, 4, 5}, 1);
        const tensor weight_ih = random_tensor(pool, {4 * w, 5}, 2),
                     weight_hh = random_tensor(pool, {4 * w, w}, 3),
                     bias = random_tensor(pool, {4 * w}, 4);
        tensor output = random_tensor(pool, {2, 4, w}, 5),
               gates = random_tensor(pool, {2, 4, 4 * w}, 6);
        const auto refused = ops->run(gru_forward{.input = input,
                                                  .parameters = {weight_ih, weight_hh, bias, bias},
                                                  .initial_state = nullptr,
                                                  .output = output,
                                                  .gates = gates});
        BOOST_REQUIRE(!refused);
        BOOST_TEST(refused.failure().message() ==
                   "gru_forward: weight_ih is float32 [24, 5], expected float32 [18, 5]");
    }
}

BOOST_AUTO_TEST_SUITE_END()
