// What every codec promises.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <map>

#include "kernels/codec/sufficient_factors.hpp"
#include "tests/unit/kernels_codec/all_codecs.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct fixture {
    operand_pool pool{1ull << 30};
    std::unique_ptr<operations> ops = shipped_operations(pool);
    compute_context context{*ops, pool};

    gradient_encoder encoder(const codec_ptr& how, std::uint32_t replica = 0) const {
        return gradient_encoder{
            {.how = how, .shapes = gradient_shapes(), .seed = 5, .replica = replica}};
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(codecs, fixture)

BOOST_AUTO_TEST_CASE(what_is_sent_and_what_is_left_are_the_sum_of_all_gradients) {
    for (const codec_ptr& how : feedback_codecs()) {
        auto encoder = this->encoder(how);
        std::vector<std::vector<double>> sent, given;
        for (const tensor_shape& shape : gradient_shapes()) {
            sent.emplace_back(shape.elements());
            given.emplace_back(shape.elements());
        }
        for (std::uint64_t step = 0; step < 20; ++step) {
            const auto gradients = random_gradients(pool, step);
            const auto payloads = encoder.encode(context, 0, gradients, 0);
            BOOST_REQUIRE(payloads.ok());
            for (std::size_t t = 0; t < gradients.size(); ++t) {
                const auto d = decoded(context, *how, gradient_shapes()[t], (*payloads)[t]);
                BOOST_REQUIRE(d.ok());
                for (std::size_t i = 0; i < given[t].size(); ++i) {
                    sent[t][i] += double{d->values<float>()[i]};
                    given[t][i] += double{gradients[t].values<float>()[i]};
                }
            }
        }
        for (std::size_t t = 0; t < given.size(); ++t) {
            // What is left is the first that is kept; of deep gradients the second.
            const auto state = encoder.state()[t];
            const bool deep = how->name() == "deep_gradient";
            const tensor left = deep && state.size() == 2 ? state[1]
                                : !deep && !state.empty() ? state[0]
                                                          : tensor{};
            double worst = 0, scale = 0;
            for (std::size_t i = 0; i < given[t].size(); ++i) {
                const double rest = left ? double{left.values<float>()[i]} : 0;
                worst = std::max(worst, std::abs(sent[t][i] + rest - given[t][i]));
                scale = std::max(scale, std::abs(given[t][i]));
            }
            BOOST_TEST(worst <= 1e-6 * scale, how->name()
                                                  << " of " << to_string(gradient_shapes()[t])
                                                  << " is off by " << worst << " of " << scale);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_drawn_by_lot_is_the_gradient_on_average) {
    constexpr int draws = 10000;
    const tensor gradient = random_tensor(pool, {3, 40}, 1);
    for (const codec_ptr& how : unbiased_codecs()) {
        std::vector<double> sum(gradient.elements()), squares(gradient.elements());
        for (int draw = 0; draw < draws; ++draw) {
            const encode_place at{.seed = 3, .step = static_cast<std::uint64_t>(draw)};
            const auto payload = how->encode(context, gradient, {}, at);
            const auto d = decoded(context, *how, gradient.shape(), payload.value());
            for (std::size_t i = 0; i < sum.size(); ++i) {
                const double x{d.value().values<float>()[i]};
                sum[i] += x;
                squares[i] += x * x;
            }
        }
        for (std::size_t i = 0; i < sum.size(); ++i) {
            const double mean = sum[i] / draws;
            const double variance = std::max(0.0, squares[i] / draws - mean * mean);
            const double off = std::abs(mean - double{gradient.values<float>()[i]});
            BOOST_TEST(off <= 5 * std::sqrt(variance / draws) + 1e-6,
                       how->name() << ": element " << i << " is off by " << off);
        }
    }
}

BOOST_AUTO_TEST_CASE(lots_depend_on_place_and_seed_alone) {
    const tensor gradient = random_tensor(pool, {3, 400}, 1);
    for (const codec_ptr& how : unbiased_codecs()) {
        const auto drawn = [&](const encode_place& at) {
            return how->encode(context, gradient, {}, at).value();
        };
        const encode_place here{.seed = 1, .replica = 2, .tensor = 3, .step = 4};
        BOOST_TEST(bit_equal(drawn(here), drawn(here)));
        for (const encode_place& there :
             {encode_place{.seed = 9, .replica = 2, .tensor = 3, .step = 4},
              encode_place{.seed = 1, .replica = 9, .tensor = 3, .step = 4},
              encode_place{.seed = 1, .replica = 2, .tensor = 9, .step = 4},
              encode_place{.seed = 1, .replica = 2, .tensor = 3, .step = 9}})
            BOOST_TEST(!bit_equal(drawn(here), drawn(there)), how->name());
    }
}

// Bits for each number, and what there is beside.
BOOST_AUTO_TEST_CASE(payloads_have_as_many_bytes_as_the_formulas_say) {
    constexpr std::size_t rows = 64, columns = 200, n = rows * columns;
    const std::pair<codec_ptr, std::size_t> formulas[] = {
        {make_half_codec(half_format::f16), 2 * n},
        {make_quantized_codec("", {.levels = 127, .bucket = 512}), n + 4 * n / 512},
        {make_quantized_codec("", {.levels = 1}), 4 + n / 4},
        {make_quantized_codec("", {.levels = 15, .bucket = 500}), 26 * 4 + 25 * 313 + 188},
        {make_sign_codec(), rows * (8 + columns / 8)},
        {make_top_codec(0.01f), 8 * 128},
        {make_top_codec(0.1f), 8 * 1280},
        {make_top_codec(0.0001f), 8 * 2},
        {make_low_rank_codec(4), 4 * 4 * (rows + columns)},
        {make_low_rank_codec(60), 4 * n}};
    const tensor gradient = random_tensor(pool, {rows, columns}, 1);
    for (const auto& [how, bytes] : formulas) {
        auto state = how->first_state(pool, gradient.shape(), {}).value();
        const tensor payload = how->encode(context, gradient, state, {}).value();
        BOOST_TEST(payload.bytes() == bytes, how->name());
        BOOST_TEST(how->payload_bytes(gradient.shape()) == bytes, how->name());
    }
    std::size_t above = 0;
    for (const float x : gradient.values<float>())
        above += std::abs(x) > 0.7f ? 1 : 0;
    BOOST_TEST(make_threshold_codec(0.7f)->encode(context, gradient, {}, {}).value().bytes() ==
               4 * above);
}

BOOST_AUTO_TEST_CASE(a_share_is_the_least_whole_number_that_is_not_below_it) {
    BOOST_TEST(elements_of_share(1000, 0.1f) == 100u); // 0.1 as float32 is more than a tenth
    BOOST_TEST(elements_of_share(100, 0.07f) == 7u);
    BOOST_TEST(elements_of_share(1001, 0.1f) == 101u);
    BOOST_TEST(elements_of_share(1, 0.000001f) == 1u);
    BOOST_TEST(elements_of_share(0, 0.5f) == 0u);
    BOOST_TEST(elements_of_share(3'000'000'000u, 1.f) == 3'000'000'000u);
    BOOST_TEST(elements_of_share(25'000'000, 0.001f) == 25'000u);
}

BOOST_AUTO_TEST_CASE(with_a_share_of_1_nothing_is_changed) {
    const codec_ptr how = with_error_feedback(make_top_codec(1));
    auto encoder = this->encoder(how);
    for (std::uint64_t step = 0; step < 3; ++step) {
        const auto gradients = random_gradients(pool, step);
        const auto payloads = encoder.encode(context, 0, gradients, 0).value();
        for (std::size_t t = 0; t < gradients.size(); ++t)
            BOOST_TEST(bit_equal(
                gradients[t], decoded(context, *how, gradient_shapes()[t], payloads[t]).value()));
    }
}

// What is sent of a decoded gradient is the same.
BOOST_AUTO_TEST_CASE(decoding_and_encoding_again_keeps_what_was_sent) {
    const tensor gradient = random_tensor(pool, {64, 200}, 1);
    for (const codec_ptr& how :
         {make_half_codec(half_format::bf16), make_half_codec(half_format::f16), make_sign_codec(),
          make_top_codec(0.01f), make_top_codec(0.1f, proto::SparseValues::F16),
          make_top_codec(0.1f, proto::SparseValues::INT8),
          make_top_codec(0.1f, proto::SparseValues::INT4)}) {
        const tensor once = how->encode(context, gradient, {}, {}).value();
        const tensor d = decoded(context, *how, gradient.shape(), once).value();
        const tensor twice = how->encode(context, d, {}, {}).value();
        const tensor again = decoded(context, *how, gradient.shape(), twice).value();
        for (std::size_t i = 0; i < d.elements(); ++i)
            BOOST_REQUIRE_CLOSE(d.values<float>()[i], again.values<float>()[i], 1e-4f);
    }
}

// A gradient that is no number stays one, so that the run ends and says so.
BOOST_AUTO_TEST_CASE(what_is_no_number_does_not_become_one) {
    for (const codec_ptr& how : all_codecs()) {
        if (how->name() == "threshold")
            continue; // it sends no values
        for (const float bad : {NAN, INFINITY}) {
            tensor gradient = random_tensor(pool, {64, 200}, 1);
            gradient.mutable_values<float>()[77] = bad;
            auto state = how->first_state(pool, gradient.shape(), {}).value();
            const tensor payload = how->encode(context, gradient, state, {}).value();
            const tensor d = decoded(context, *how, gradient.shape(), payload).value();
            BOOST_TEST(!std::isfinite(d.values<float>()[77]), how->name());
        }
    }
}

BOOST_AUTO_TEST_CASE(low_rank_follows_a_matrix_of_low_rank_exactly_and_wakes_from_zeros) {
    const codec_ptr how = make_low_rank_codec(2);
    const tensor left = random_tensor(pool, {2, 30}, 1), right = random_tensor(pool, {2, 50}, 2);
    tensor gradient = random_tensor(pool, {30, 50}, 3);
    BOOST_REQUIRE(ops->run(matrix_multiply{{left, true}, {right}, 1, nullptr, gradient}).ok());
    auto state = how->first_state(pool, gradient.shape(), {}).value();
    const auto error_of = [&](const tensor& g) {
        const tensor payload = how->encode(context, g, state, {}).value();
        const tensor d = decoded(context, *how, g.shape(), payload).value();
        double worst = 0;
        for (std::size_t i = 0; i < d.elements(); ++i)
            worst = std::max(worst,
                             std::abs(double{d.values<float>()[i]} - double{g.values<float>()[i]}));
        return worst;
    };
    tensor nothing = random_tensor(pool, {30, 50}, 3);
    std::ranges::fill(nothing.mutable_values<float>(), 0.f);
    BOOST_TEST(error_of(nothing) == 0);
    BOOST_TEST(error_of(nothing) == 0);
    BOOST_TEST(error_of(gradient) < 1e-5);
    BOOST_TEST(error_of(gradient) < 1e-5);
}

BOOST_AUTO_TEST_CASE(summed_factors_and_what_all_senders_keep_are_the_sum_of_all_gradients) {
    constexpr std::uint32_t senders = 3;
    const tensor_shape shape{30, 50};
    const codec_ptr how = make_low_rank_codec(2);
    const low_rank_factors& f = *how->low_rank();
    const auto shapes = *f.shapes_of(shape);
    BOOST_TEST((shapes.left == tensor_shape{2, 30}));
    BOOST_TEST((shapes.right == tensor_shape{2, 50}));
    BOOST_TEST(!f.shapes_of({10}));
    BOOST_TEST(!f.shapes_of({3, 3})); // two thin ones are no less
    std::vector<std::vector<tensor>> state;
    for (std::uint32_t r = 0; r < senders; ++r)
        state.push_back(how->first_state(pool, shape, {.replica = r}).value());
    const auto add = [](tensor& to, const tensor& more) {
        for (std::size_t i = 0; i < to.elements(); ++i)
            to.mutable_values<float>()[i] += more.values<float>()[i];
    };
    std::vector<double> sent(shape.elements()), given(shape.elements());
    tensor output = random_tensor(pool, shape, 1);
    for (std::uint64_t step = 0; step < 20; ++step) {
        tensor left = random_tensor(pool, shapes.left, 1),
               right = random_tensor(pool, shapes.right, 1);
        std::ranges::fill(left.mutable_values<float>(), 0.f);
        std::ranges::fill(right.mutable_values<float>(), 0.f);
        for (std::uint32_t r = 0; r < senders; ++r) {
            const tensor gradient = random_tensor(pool, shape, 100 * step + r);
            for (std::size_t i = 0; i < given.size(); ++i)
                given[i] += double{gradient.values<float>()[i]};
            add(left, f.left(context, gradient, state[r]).value());
        }
        const tensor basis = f.basis(context, left).value();
        for (std::uint32_t r = 0; r < senders; ++r)
            add(right, f.right(context, basis, state[r]).value());
        for (std::uint32_t r = 0; r < senders; ++r) {
            BOOST_REQUIRE(f.product(context, basis, right, state[r], output).ok());
            BOOST_TEST(bit_equal(state[r][1], state[0][1])); // where all begin the next time
        }
        for (std::size_t i = 0; i < sent.size(); ++i)
            sent[i] += double{output.values<float>()[i]};
    }
    for (std::size_t i = 0; i < sent.size(); ++i) {
        double kept = 0;
        for (std::uint32_t r = 0; r < senders; ++r)
            kept += double{state[r][0].values<float>()[i]};
        BOOST_TEST(std::abs(sent[i] + kept - given[i]) < 1e-4);
    }
}

BOOST_AUTO_TEST_CASE(
    sufficient_factors_give_the_gradient_and_are_chosen_exactly_where_they_are_less) {
    const std::size_t samples = 8, outs = 20, ins = 30;
    const tensor dy = random_tensor(pool, {samples, outs}, 1),
                 x = random_tensor(pool, {samples, ins}, 2);
    const tensor w = random_tensor(pool, {outs, ins}, 3);
    tensor expected = random_tensor(pool, {outs, ins}, 4),
           given = random_tensor(pool, {outs, ins}, 5);
    BOOST_REQUIRE(ops->run(linear_backward{x, w, dy, nullptr, &expected, nullptr}).ok());
    tensor payload = random_tensor(pool, {samples, outs + ins}, 6);
    const tensor parts[] = {dy, x};
    BOOST_REQUIRE(ops->run(concat{.axis = 1, .inputs = parts, .output = payload}).ok());
    const sufficient_factors how{samples};
    BOOST_TEST(payload.bytes() == how.payload_bytes({outs, ins}));
    BOOST_REQUIRE(how.check({outs, ins}, payload).ok());
    BOOST_REQUIRE(how.decode(context, payload, 1, nullptr, given).ok());
    for (std::size_t i = 0; i < given.elements(); ++i)
        BOOST_TEST(std::abs(given.values<float>()[i] - expected.values<float>()[i]) < 1e-5f);
    BOOST_TEST(!sufficient_factors{samples - 1}.check({outs, ins}, payload).ok());
    BOOST_TEST(!how.check({outs, ins + 1}, payload).ok());
    BOOST_TEST(!how.check({outs, ins}, payload.reshaped({payload.elements()})).ok());
    BOOST_TEST(!how.check({outs, ins}, payload.rows(0, 0)).ok());

    // With as many servers as workers K P (M + N) <= 2 M N: at M = N it flips at K P = N.
    for (const std::uint64_t p : {2, 4})
        for (const std::uint64_t k : {1, 16, 64}) {
            const factor_costs costs{.workers = p, .servers = p, .rows = k};
            BOOST_TEST(factors_are_cheaper(costs, k * p, k * p));
            BOOST_TEST(!factors_are_cheaper(costs, k * p - 1, k * p));
        }
    BOOST_TEST(numbers_of_factors({4, 4, 64}, 128, 3136) == 2.0 * 64 * 3 * (128 + 3136));
    BOOST_TEST(numbers_of_whole({4, 2, 64}, 128, 3136) == 2.0 * 128 * 3136 * 4 / 2);
}

BOOST_AUTO_TEST_SUITE_END()
