// Operations whose bits are those of the CPU back end, so that parameter servers and peers on either agree.
#include <boost/test/unit_test.hpp>

#include <array>

#include "kernels/cpu/cpu_operations.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct fixture {
    operand_pool pool{1 << 24};
    std::unique_ptr<operations> cpu = make_cpu_operations(pool);
    std::unique_ptr<operations> gpu = backends().front().make(pool);
    const tensor_shape shape{3, 417};

    tensor random(std::uint64_t seed) { return random_tensor(pool, shape, seed); }
    tensor squared(std::uint64_t seed) {
        tensor t = random(seed);
        for (float& x : t.mutable_values<float>())
            x *= x;
        return t;
    }

    // Whether run(operations, outputs) writes the same on both.
    template <class Run>
    void check_same(std::size_t outputs, const std::string& what, const Run& run) {
        std::vector<tensor> expected, given;
        for (std::size_t i = 0; i < outputs; ++i) {
            expected.push_back(random(100 + i));
            given.push_back(random(200 + i));
        }
        BOOST_REQUIRE(run(*cpu, expected).ok());
        BOOST_REQUIRE(run(*gpu, given).ok());
        for (std::size_t i = 0; i < outputs; ++i)
            BOOST_TEST(bit_equal(expected[i], given[i]), what << ": output " << i << " differs");
    }

    template <class Settings>
    void check_update(const Settings& settings, const std::string& what) {
        const tensor weight = random(1), gradient = random(2);
        const std::array kept{squared(3), squared(4)};
        const auto state = std::span{kept}.first(state_of(settings).size());
        check_same(1 + state.size(), what, [&](operations& ops, std::vector<tensor>& to) {
            return ops.run(
                weight_update{settings, update_operands{.learning_rate = 0.1f,
                                                        .step = 3,
                                                        .gradient = gradient,
                                                        .weight = weight,
                                                        .state = state,
                                                        .new_weight = to[0],
                                                        .new_state = std::span{to}.subspan(1)}});
        });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(same_bits, fixture)

BOOST_AUTO_TEST_CASE(updates_give_the_bits_of_the_cpu) {
    for (const float decay : {0.f, 0.01f}) {
        for (const float momentum : {0.f, 0.9f})
            for (const bool nesterov : {false, true})
                check_update(sgd_settings{.momentum = momentum,
                                          .weight_decay = decay,
                                          .gradient_scale = 0.3f,
                                          .nesterov = nesterov},
                             "sgd");
        check_update(adagrad_settings{.weight_decay = decay}, "adagrad");
        check_update(rmsprop_settings{.weight_decay = decay}, "rmsprop");
        check_update(adadelta_settings{.weight_decay = decay}, "adadelta");
        for (const bool decoupled : {false, true})
            check_update(adam_settings{.weight_decay = decay, .decoupled = decoupled}, "adam");
        check_update(lamb_settings{.weight_decay = decay}, "lamb");
    }
}

BOOST_AUTO_TEST_CASE(sums_of_what_replicas_send_give_the_bits_of_the_cpu) {
    const tensor x = random(1), y = random(2), z = random(3), square = squared(4);
    const auto same = [&](std::size_t outputs, const char* what, const auto& run) {
        check_same(outputs, what, run);
    };
    same(1, "add_scaled", [&](operations& ops, std::vector<tensor>& to) {
        return ops.run(add_scaled{x, -0.3f, y, to[0]});
    });
    same(1, "dropout", [&](operations& ops, std::vector<tensor>& to) {
        return ops.run(dropout{0.3f, {.stream = 5, .minibatch = 7}, 11, x, to[0]});
    });
    same(2, "momentum_correction", [&](operations& ops, std::vector<tensor>& to) {
        return ops.run(momentum_correction{0.9f, 0.3f, x, y, z, to[0], to[1]});
    });
    same(1, "compensate_delay", [&](operations& ops, std::vector<tensor>& to) {
        return ops.run(compensate_delay{0.3f, x, y, z, to[0]});
    });
    same(2, "compensate_delay by the mean square", [&](operations& ops, std::vector<tensor>& to) {
        return ops.run(compensate_delay{0.3f, x, y, z, to[0], 0.95f, &square, &to[1]});
    });
}

// Of every number of inputs for which another sort is compiled, with what is no number among them.
BOOST_AUTO_TEST_CASE(trimmed_means_give_the_bits_of_the_cpu) {
    for (const std::size_t count : {1u, 2u, 4u, 5u, 8u, 9u, 16u, 17u, 32u, 33u, 64u}) {
        std::vector<tensor> inputs;
        for (std::size_t k = 0; k < count; ++k)
            inputs.push_back(random(10 + k));
        inputs[count / 2].mutable_values<float>()[5] = NAN;
        inputs[0].mutable_values<float>()[6] = -INFINITY;
        for (const std::size_t trim : {std::size_t{0}, (count - 1) / 4, (count - 1) / 2})
            check_same(1, "trimmed_mean of " + std::to_string(count),
                       [&](operations& ops, std::vector<tensor>& to) {
                           return ops.run(trimmed_mean{inputs, trim, to[0]});
                       });
    }
}

BOOST_AUTO_TEST_SUITE_END()
