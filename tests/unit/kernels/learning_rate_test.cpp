#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include "kernels/optim/learning_rate.hpp"

using namespace troupe;

namespace {

// Five epochs of four minibatches, at 0.8.
struct run {
    run() {
        train.setEpochs(5);
        train.initOptimizer().initSgd().setLearningRate(0.8f);
    }

    float first_of(std::uint32_t epoch) const { return at(4 * epoch); }
    float at(std::uint64_t minibatch) const {
        const auto epoch = static_cast<std::uint32_t>(minibatch / 4);
        return make_learning_rates(train.asReader(), 20)({epoch, minibatch});
    }

    capnp::MallocMessageBuilder message;
    proto::Train::Builder train = message.initRoot<proto::Train>();
};

} // namespace

BOOST_AUTO_TEST_SUITE(learning_rate_schedules)

BOOST_FIXTURE_TEST_CASE(without_a_schedule_the_rate_is_constant, run) {
    for (std::uint64_t minibatch = 0; minibatch < 20; ++minibatch)
        BOOST_TEST(at(minibatch) == 0.8f);
}

BOOST_FIXTURE_TEST_CASE(so_many_times_the_rates_are_that_in_all_places, run) {
    train.setWarmupMinibatches(8);
    train.initSchedule().initStep().setEveryEpochs(3);
    const auto thrice = times(make_learning_rates(train.asReader(), 20), 3);
    for (std::uint64_t minibatch = 0; minibatch < 20; ++minibatch)
        BOOST_TEST(thrice({static_cast<std::uint32_t>(minibatch / 4), minibatch}) ==
                   3 * at(minibatch));
}

BOOST_FIXTURE_TEST_CASE(steps_and_half_a_cosine_go_by_epochs, run) {
    auto step = train.initSchedule().initStep();
    step.setEveryEpochs(2);
    step.setFactor(0.5f);
    BOOST_TEST(first_of(1) == 0.8f);
    BOOST_TEST(at(7) == 0.8f);
    BOOST_TEST(at(8) == 0.4f);
    BOOST_TEST(first_of(4) == 0.2f);
    train.initSchedule().initCosine().setFinalFactor(0.25f);
    BOOST_TEST(first_of(0) == 0.8f);
    BOOST_TEST(at(3) == 0.8f);
    BOOST_TEST(first_of(2) == 0.5f);
    BOOST_TEST(first_of(4) == 0.2f);
    BOOST_TEST(at(19) == 0.2f);
}

BOOST_FIXTURE_TEST_CASE(a_polynomial_goes_by_minibatches_and_arrives_after_the_last, run) {
    train.initSchedule().initPolynomial();
    BOOST_TEST(at(0) == 0.8f);
    BOOST_TEST(at(5) == 0.6f);
    BOOST_TEST(at(19) == 0.04f);
    BOOST_TEST(at(20) == 0.f);
    train.getSchedule().getPolynomial().setPower(2);
    BOOST_TEST(at(10) == 0.2f);
    train.getSchedule().getPolynomial().setFinalFactor(0.5f);
    BOOST_TEST(at(10) == 0.5f);
    BOOST_TEST(at(20) == 0.4f);
}

BOOST_FIXTURE_TEST_CASE(the_rate_grows_linearly_while_a_run_warms_up, run) {
    train.setWarmupMinibatches(8);
    BOOST_TEST(at(0) == 0.1f);
    BOOST_TEST(at(5) == 0.6f);
    BOOST_TEST(at(7) == 0.8f);
    BOOST_TEST(at(8) == 0.8f);
    // What goes by epochs goes on meanwhile; a polynomial begins afterwards.
    auto step = train.initSchedule().initStep();
    step.setEveryEpochs(1);
    step.setFactor(0.5f);
    BOOST_TEST(at(5) == 0.3f);
    BOOST_TEST(at(8) == 0.2f);
    train.initSchedule().initPolynomial();
    BOOST_TEST(at(5) == 0.6f);
    BOOST_TEST(at(8) == 0.8f);
    BOOST_TEST(at(14) == 0.4f);
    BOOST_TEST(at(20) == 0.f);
}

BOOST_FIXTURE_TEST_CASE(a_run_may_end_before_it_is_warm, run) {
    train.setWarmupMinibatches(40);
    train.initSchedule().initPolynomial();
    BOOST_TEST(at(0) == 0.02f);
    BOOST_TEST(at(19) == 0.4f);
}

BOOST_AUTO_TEST_SUITE_END()
