#include <boost/test/unit_test.hpp>

#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/cut_model.hpp"
#include "tests/unit/kernels/models.hpp"
#include "tests/unit/kernels/rules.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

model_builder sequence_model() {
    model_builder model{5, 3}; // positions, features
    model.gru(7, false).lstm(6, false).lstm(5, true).tanh().linear(4);
    return model;
}

} // namespace

BOOST_AUTO_TEST_SUITE(recurrent_layers)

BOOST_AUTO_TEST_CASE(gradients_match_finite_differences) {
    for (const auto& backend : backends()) {
        operand_pool pool{1ull << 24};
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        auto model = sequence_model();
        cut_model whole{context, model.build(), {5}};
        check_finite_differences(context, whole, random_tensor(pool, {3, 5, 3}, 1),
                                 labels(pool, 3, 4, 2), backend.name);
    }
}

BOOST_AUTO_TEST_CASE(a_model_gives_the_same_bits_wherever_it_is_cut) {
    for (const auto& backend : backends()) {
        operand_pool pool{1ull << 24};
        const auto ops = backend.make(pool);
        compute_context context{*ops, pool};
        auto model = sequence_model();
        const auto trained = [&](const std::vector<std::size_t>& counts) {
            cut_model cut{context, model.build(), counts};
            for (int step = 0; step < 2; ++step)
                cut.train(context, random_tensor(pool, {3, 5, 3}, 1), labels(pool, 3, 4, 2),
                          *sgd_rule(0.9f), 0.05f);
            return cut.parameters();
        };
        const auto whole = trained({5});
        for (const std::vector<std::size_t>& cut :
             std::vector<std::vector<std::size_t>>{{1, 4}, {2, 3}, {3, 2}, {1, 1, 1, 1, 1}})
            check_bit_equal(whole, trained(cut));
    }
}

BOOST_AUTO_TEST_CASE(an_input_that_is_no_sequence_is_refused) {
    model_builder model{12};
    model.gru(7, false).linear(4);
    const auto refused = stage_program::create(model.build(), {0, 2});
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.failure().message() ==
               "layers[0] gru: takes sequences, (positions, features), but its input is [12]");
}

BOOST_AUTO_TEST_SUITE_END()
