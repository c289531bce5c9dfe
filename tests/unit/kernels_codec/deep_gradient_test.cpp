// Deep gradient compression: momentum, masking, warm-up, clipping and the sampled threshold.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>

#include "tests/unit/kernels_codec/all_codecs.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

const tensor_shape shape{64, 200};

struct fixture {
    operand_pool pool{1ull << 30};
    std::unique_ptr<operations> ops = shipped_operations(pool);
    compute_context context{*ops, pool};

    // Encodes so many gradients; calls f(gradient, what was decoded of it, state) after each.
    template <class Function>
    void run(const deep_gradient_settings& settings, std::uint64_t steps, Function f) {
        const codec_ptr how = make_deep_gradient_codec(settings);
        auto state = how->first_state(pool, shape, {}).value();
        for (std::uint64_t step = 0; step < steps; ++step) {
            const tensor gradient = random_tensor(pool, shape, step + 1);
            const auto payload = how->encode(context, gradient, state, {.seed = 3, .step = step});
            f(gradient, decoded(context, *how, shape, payload.value()).value(), state);
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(deep_gradient, fixture)

BOOST_AUTO_TEST_CASE(with_a_share_of_1_and_no_masking_it_is_sgd_with_momentum_bit_for_bit) {
    tensor momentum = random_tensor(pool, shape, 99), weight = random_tensor(pool, shape, 98);
    std::ranges::fill(momentum.mutable_values<float>(), 0.f);
    run({.ratio = 1, .momentum = 0.9f, .masking = false}, 5,
        [&](const tensor& gradient, const tensor& sent, const auto&) {
            const std::array old{momentum};
            std::array next{random_tensor(pool, shape, 97)};
            tensor stepped = random_tensor(pool, shape, 96), plain = random_tensor(pool, shape, 95);
            const auto operands = [&](const tensor& g, std::span<const tensor> state,
                                      tensor& new_weight, std::span<tensor> new_state) {
                return update_operands{.learning_rate = 0.1f,
                                       .step = 1,
                                       .gradient = g,
                                       .weight = weight,
                                       .state = state,
                                       .new_weight = new_weight,
                                       .new_state = new_state};
            };
            const sgd_settings with{.momentum = 0.9f}, without{};
            BOOST_REQUIRE(ops->run(sgd_update{with, operands(gradient, old, stepped, next)}).ok());
            BOOST_REQUIRE(ops->run(sgd_update{without, operands(sent, {}, plain, {})}).ok());
            BOOST_TEST(bit_equal(stepped, plain));
            momentum = next[0];
            weight = stepped;
        });
}

BOOST_AUTO_TEST_CASE(without_masking_what_is_sent_and_what_is_left_are_the_sum_of_all_velocities) {
    std::vector<double> velocity(shape.elements()), all(shape.elements()), sent(shape.elements());
    run({.ratio = 0.01f, .momentum = 0.9f, .masking = false}, 20,
        [&](const tensor& gradient, const tensor& d, const std::vector<tensor>& state) {
            double worst = 0, scale = 0;
            for (std::size_t i = 0; i < all.size(); ++i) {
                velocity[i] = double{0.9f} * velocity[i] + double{gradient.values<float>()[i]};
                all[i] += velocity[i];
                sent[i] += double{d.values<float>()[i]};
                const double left{state[1].values<float>()[i]};
                worst = std::max(worst, std::abs(sent[i] + left - all[i]));
                scale = std::max(scale, std::abs(all[i]));
            }
            BOOST_TEST(worst <= 1e-6 * scale);
        });
}

BOOST_AUTO_TEST_CASE(masking_stops_the_momentum_of_what_is_sent_alone) {
    for (const bool masking : {false, true})
        run({.ratio = 0.01f, .momentum = 0.9f, .masking = masking}, 3,
            [&](const tensor&, const tensor& d, const std::vector<tensor>& state) {
                for (std::size_t i = 0; i < d.elements(); ++i) {
                    const bool sent = d.values<float>()[i] != 0;
                    BOOST_REQUIRE((state[1].values<float>()[i] == 0) == sent);
                    BOOST_REQUIRE((state[0].values<float>()[i] == 0) == (sent && masking));
                }
            });
}

BOOST_AUTO_TEST_CASE(the_sampled_threshold_sends_about_the_share_and_never_more) {
    for (const float ratio : {0.001f, 0.01f, 0.1f, 0.5f}) {
        const std::size_t wanted = elements_of_share(shape.elements(), ratio);
        run({.ratio = ratio}, 10, [&](const tensor&, const tensor& d, const auto&) {
            std::size_t sent = 0;
            for (const float x : d.values<float>())
                sent += x != 0 ? 1 : 0;
            BOOST_TEST(sent <= wanted);
            BOOST_TEST(static_cast<double>(sent) >= 0.8 * static_cast<double>(wanted));
        });
    }
}

// The numbers of the authors' code.
BOOST_AUTO_TEST_CASE(samples_are_strided_and_large_enough) {
    const auto check = [](std::size_t elements, float ratio, std::size_t stride, std::size_t count,
                          std::size_t top) {
        const auto sample = threshold_sample::of(elements, ratio);
        BOOST_TEST(sample.stride == stride);
        BOOST_TEST(sample.count == count);
        BOOST_TEST(sample.top == top);
    };
    check(1000, 0.001f, 1, 1000, 1);    // no more than 2 / ratio: all
    check(401408, 0.001f, 97, 4138, 5); // 1 of 100, and a stride of 32 k + 1
    check(2'000'000, 0.001f, 97, 20618, 21);
    check(12800, 0.01f, 57, 224, 3); // 65 would give too few
    for (const std::size_t elements : {201u, 999u, 54321u, 1234567u})
        for (const float ratio : {0.5f, 0.01f, 0.001f}) {
            const auto sample = threshold_sample::of(elements, ratio);
            BOOST_TEST((sample.count == elements ||
                        (sample.count * 100 >= elements && sample.count >= 2 / double{ratio} - 1)));
            BOOST_TEST(sample.count * sample.stride <= elements);
        }
}

BOOST_AUTO_TEST_CASE(the_share_falls_to_its_last_value_in_the_warm_up) {
    const deep_gradient_settings settings{.ratio = 0.001f, .warmup_epochs = 4};
    const double shares[] = {0.25119, 0.063096, 0.015849, 0.0039811, 0.001, 0.001};
    for (std::uint32_t epoch = 0; epoch < 6; ++epoch)
        BOOST_TEST(double{settings.ratio_at(epoch)} == shares[epoch],
                   boost::test_tools::tolerance(1e-4));
    BOOST_TEST(deep_gradient_settings{.ratio = 0.001f}.ratio_at(0) == 0.001f);
    const codec_ptr how = make_deep_gradient_codec(settings);
    BOOST_TEST(how->payload_bytes(shape) ==
               8 * elements_of_share(shape.elements(), settings.ratio_at(0)));
}

BOOST_AUTO_TEST_CASE(clipping_bounds_the_norm_of_all_gradients_of_a_replica) {
    gradient_encoder encoder{
        {.how = make_deep_gradient_codec({.ratio = 1, .momentum = 0, .clip_norm = 3}),
         .shapes = gradient_shapes(),
         .replicas = 4}};
    const auto gradients = random_gradients(pool, 1);
    const auto payloads = encoder.encode(context, 0, gradients, 0).value();
    const codec_ptr how = make_deep_gradient_codec({.ratio = 1, .momentum = 0});
    double before = 0, after = 0;
    for (std::size_t t = 0; t < gradients.size(); ++t) {
        const tensor d = decoded(context, *how, gradient_shapes()[t], payloads[t]).value();
        for (std::size_t i = 0; i < d.elements(); ++i) {
            before += std::pow(double{gradients[t].values<float>()[i]}, 2);
            after += std::pow(double{d.values<float>()[i]}, 2);
        }
    }
    BOOST_TEST(std::sqrt(before) > 3);
    BOOST_TEST(std::sqrt(after) == 3 / std::sqrt(4.0), boost::test_tools::tolerance(1e-5));
}

BOOST_AUTO_TEST_SUITE_END()
