#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include <algorithm>

#include "kernels/optim/run_shape.hpp"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(run_shapes)

BOOST_AUTO_TEST_CASE(without_growth_all_epochs_are_alike) {
    const run_shape run{.samples = 70, .epochs = 3, .batch = {.first = 8}};
    for (std::uint32_t epoch = 0; epoch < 5; ++epoch) {
        BOOST_TEST(run.batch.at(epoch) == 8u);
        BOOST_TEST(run.minibatches_of(epoch) == 9u);
        BOOST_TEST(run.minibatches_before(epoch) == 9u * epoch);
    }
    BOOST_TEST(run.minibatches() == 27u);
}

BOOST_AUTO_TEST_CASE(minibatches_grow_step_by_step_up_to_their_maximum) {
    const batch_sizes batch{.first = 8, .every_epochs = 2, .factor = 3, .maximum = 100};
    const std::uint32_t expected[] = {8, 8, 24, 24, 72, 72, 100, 100, 100};
    for (std::uint32_t epoch = 0; epoch < std::size(expected); ++epoch)
        BOOST_TEST(batch.at(epoch) == expected[epoch]);
    BOOST_TEST(batch.at(~0u) == 100u);
}

BOOST_AUTO_TEST_CASE(what_is_before_an_epoch_is_the_sum_of_the_epochs_before) {
    for (const std::uint32_t every : {0u, 1u, 2u, 5u})
        for (const std::uint32_t factor : {2u, 5u}) {
            const run_shape run{
                .samples = 1000,
                .epochs = 12,
                .batch = {.first = 7, .every_epochs = every, .factor = factor, .maximum = 3000}};
            std::uint64_t before = 0;
            for (std::uint32_t epoch = 0; epoch < 20; ++epoch) {
                BOOST_TEST(run.minibatches_before(epoch) == before);
                before += run.minibatches_of(epoch);
                BOOST_TEST(run.epoch_of(before - 1) == std::min(epoch, 12u));
            }
            BOOST_TEST(run.minibatches() == run.minibatches_before(12));
        }
}

BOOST_AUTO_TEST_CASE(a_long_run_is_counted_as_soon_as_a_short_one) {
    const run_shape run{.samples = 1'000'000,
                        .epochs = 1'000'000,
                        .batch = {.first = 1, .every_epochs = 1, .factor = 2, .maximum = 64}};
    BOOST_TEST(run.minibatches() ==
               1'000'000u + 500'000 + 250'000 + 125'000 + 62'500 + 31'250 + 999'994ull * 15'625);
}

BOOST_AUTO_TEST_CASE(the_app_says_how) {
    capnp::MallocMessageBuilder message;
    auto train = message.initRoot<proto::Train>();
    train.setBatch(4);
    train.setEpochs(6);
    BOOST_TEST(run_shape::of(train.asReader(), 64).minibatches() == 96u);
    auto growth = train.initBatchGrowth();
    growth.setEveryEpochs(3);
    growth.setMaximum(1000);
    BOOST_TEST(run_shape::of(train.asReader(), 64).minibatches() == 48u + 24u);
}

BOOST_AUTO_TEST_SUITE_END()
