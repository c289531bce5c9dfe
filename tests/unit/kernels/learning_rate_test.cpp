#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "kernels/optim/learning_rate.hpp"

using namespace troupe;

namespace {

constexpr float rate = 0.8f;
constexpr std::uint64_t per_epoch = 4;

// Epochs of four minibatches; the last one has fewer samples.
struct run {
    explicit run(std::uint32_t epochs = 5, std::uint32_t warmup = 0) {
        train.setBatch(8);
        train.setEpochs(epochs);
        train.setWarmupMinibatches(warmup);
        train.initOptimizer().initSgd().setLearningRate(rate);
    }

    std::uint64_t minibatches() const { return per_epoch * train.asReader().getEpochs(); }
    learning_rates rates() const { return make_learning_rates(train.asReader(), 27); }
    float at(std::uint64_t minibatch) const { return rates()(minibatch); }

    void step(std::uint32_t every_epochs, float factor) {
        auto step = train.initSchedule().initStep();
        step.setEveryEpochs(every_epochs);
        step.setFactor(factor);
    }
    void polynomial(float power, float final_factor) {
        auto polynomial = train.initSchedule().initPolynomial();
        polynomial.setPower(power);
        polynomial.setFinalFactor(final_factor);
    }
    void cosine(float final_factor) {
        train.initSchedule().initCosine().setFinalFactor(final_factor);
    }

    capnp::MallocMessageBuilder message;
    proto::Train::Builder train = message.initRoot<proto::Train>();
};

// The share of the rate, by the number of a minibatch after the warm-up, of so many.
using formula = std::function<double(double gone, double last)>;

void compare(const run& of, std::uint64_t warmup, const formula& share) {
    const learning_rates rates = of.rates();
    const double last = static_cast<double>(of.minibatches()) - 1 - static_cast<double>(warmup);
    for (std::uint64_t b = 0; b < of.minibatches(); ++b) {
        const double gone = static_cast<double>(b) - static_cast<double>(warmup);
        const double expected = b < warmup
                                    ? static_cast<double>(b + 1) / static_cast<double>(warmup)
                                    : share(gone, last);
        BOOST_TEST(std::abs(rates(b) - rate * expected) <= 1e-6 * rate,
                   "minibatch " << b << " of " << of.minibatches() << ", warm-up " << warmup << ": "
                                << rates(b) << ", not " << rate * expected);
    }
}

double cosine_down_to(double floor, double gone, double last) {
    return floor + (1 - floor) * (1 + std::cos(std::numbers::pi * gone / last)) / 2;
}

} // namespace

BOOST_AUTO_TEST_SUITE(learning_rate_schedules)

BOOST_AUTO_TEST_CASE(every_schedule_goes_by_minibatches_from_the_warm_ups_end_to_the_runs_end) {
    for (const std::uint32_t epochs : {1u, 2u, 5u})
        for (const std::uint32_t warmup : {0u, 1u, 2u, 3u, 7u, 30u}) {
            run r{epochs, warmup};
            compare(r, warmup, [](double, double) { return 1; });
            if (warmup + 1 == r.minibatches())
                continue; // one minibatch is left: below
            for (const float floor : {0.f, 0.25f}) {
                r.cosine(floor);
                compare(r, warmup, [floor](double gone, double last) {
                    return cosine_down_to(double{floor}, gone, last);
                });
                for (const float power : {0.f, 1.f, 3.f}) {
                    r.polynomial(power, floor);
                    compare(r, warmup, [floor, power](double gone, double last) {
                        return floor + (1 - floor) * std::pow(1 - gone / last, power);
                    });
                }
            }
            for (const std::uint32_t every : {1u, 2u}) {
                r.step(every, 0.5f);
                compare(r, warmup, [every](double gone, double) {
                    return std::pow(0.5, std::floor(gone / (every * double{per_epoch})));
                });
            }
        }
}

BOOST_AUTO_TEST_CASE(the_last_minibatch_alone_has_the_final_rate) {
    run r;
    r.cosine(0.25f);
    BOOST_TEST(r.at(0) == rate);
    BOOST_TEST(r.at(18) > 0.25f * rate);
    BOOST_TEST(r.at(19) == 0.25f * rate);
    BOOST_TEST(r.at(20) == 0.25f * rate); // behind the run
    r.polynomial(1, 0);
    BOOST_TEST(r.at(18) > 0.f);
    BOOST_TEST(r.at(19) == 0.f);
    BOOST_TEST(r.at(25) == 0.f);
}

BOOST_AUTO_TEST_CASE(one_epoch_falls_as_several_do) {
    run r{1};
    r.cosine(0);
    BOOST_TEST(r.at(0) == rate);
    BOOST_TEST(r.at(1) == 0.6f); // cos(pi / 3) is 1/2
    BOOST_TEST(r.at(2) == 0.2f);
    BOOST_TEST(r.at(3) == 0.f);
}

BOOST_AUTO_TEST_CASE(a_run_of_one_minibatch_after_its_warm_up_has_the_full_rate) {
    for (const std::uint32_t warmup : {0u, 3u}) {
        run r{1, warmup};
        const std::uint64_t samples = 8 * (warmup + 1);
        for (const bool is_cosine : {true, false}) {
            is_cosine ? r.cosine(0) : r.polynomial(2, 0);
            BOOST_TEST(make_learning_rates(r.train.asReader(), samples)(warmup) == rate);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_run_may_end_before_it_is_warm) {
    run r{5, 40};
    r.cosine(0);
    BOOST_TEST(r.at(0) == 0.02f);
    BOOST_TEST(r.at(19) == 0.4f);
}

BOOST_AUTO_TEST_CASE(steps_count_epochs_of_the_run_that_grow_shorter) {
    run r{6};
    auto growth = r.train.initBatchGrowth(); // epochs of 4, 4, 2, 2, 1 and 1 minibatches
    growth.setEveryEpochs(2);
    growth.setMaximum(32);
    r.step(1, 0.5f);
    const auto at = [&](std::uint64_t minibatch) {
        return make_learning_rates(r.train.asReader(), 32)(minibatch) / rate;
    };
    const float at_their_begin[] = {1,  1,   1,   1,    .5,   .5,      .5,
                                    .5, .25, .25, .125, .125, 1. / 16, 1. / 32};
    for (std::uint64_t b = 0; b < std::size(at_their_begin); ++b)
        BOOST_TEST(at(b) == at_their_begin[b]);
    // The warm-up ends in the middle of the first epoch, and so the steps are in the middle of epochs.
    r.train.setWarmupMinibatches(2);
    const float in_their_middle[] = {.5, 1, 1, 1, 1, 1, .5, .5, .5, .25, .25, .125, .125, 1. / 16};
    for (std::uint64_t b = 0; b < std::size(in_their_middle); ++b)
        BOOST_TEST(at(b) == in_their_middle[b]);
}

// Minibatches grow from 4 samples to 7; the last round of an epoch may be short.
BOOST_AUTO_TEST_CASE(replicas_that_take_turns_have_the_rates_of_one_device_with_all_their_samples) {
    for (const std::uint32_t replicas : {1u, 2u, 3u, 8u, 20u})
        for (const std::uint32_t warmup : {0u, 1u, 6u, 7u}) // minibatches, of all replicas
            for (int schedule = 0; schedule < 3; ++schedule) {
                run many{4, warmup}, one{4, (warmup + replicas - 1) / replicas};
                for (run* r : {&many, &one}) {
                    r->train.setBatch(r == &many ? 4 : 4 * replicas);
                    auto growth = r->train.initBatchGrowth();
                    growth.setEveryEpochs(2);
                    growth.setMaximum(r == &many ? 7 : 7 * replicas);
                    if (schedule == 0)
                        r->cosine(0.1f);
                    else
                        schedule == 1 ? r->polynomial(2, 0) : r->step(1, 0.5f);
                }
                const auto rates = make_learning_rates(many.train.asReader(), 50, replicas);
                const auto alone = make_learning_rates(one.train.asReader(), 50);
                std::uint64_t minibatch = 0, update = 0;
                for (const std::uint64_t of_epoch : {13u, 13u, 8u, 8u}) {
                    for (std::uint64_t m = 0; m < of_epoch; ++m)
                        BOOST_TEST(rates(minibatch + m) == alone(update + m / replicas));
                    minibatch += of_epoch;
                    update += (of_epoch + replicas - 1) / replicas;
                }
            }
}

BOOST_AUTO_TEST_CASE(so_many_times_the_rates_are_that_of_all_minibatches) {
    run r{5, 8};
    r.step(3, 0.5f);
    const auto thrice = times(r.rates(), 3);
    for (std::uint64_t b = 0; b < 20; ++b)
        BOOST_TEST(thrice(b) == 3 * r.at(b));
}

BOOST_AUTO_TEST_SUITE_END()
