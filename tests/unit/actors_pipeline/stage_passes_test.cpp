// The passes of a stage, against a stage that a test plays.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include "actors/pipeline/stage/stage_passes.hpp"
#include "schemas/pipeline.capnp.h"
#include "schemas/training.capnp.h"
#include "tests/unit/actors_pipeline/played_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::uint64_t previous_number = 1, next_number = 2, trainer_number = 3;
constexpr std::uint32_t samples = 8; // of a minibatch

// Stage 0 of `stages`, a linear layer from 3 to 2, in an epoch that begins with minibatch 40 and version 100.
struct passing_stage : played_stage {
    stage_passes passes{*this};

    passing_stage(std::uint32_t stages, std::uint32_t microbatches) {
        its_options.at.place = {0, stages};
        its_options.at.replica = {0, 1};
        its_options.trainer = number(trainer_number);
        its_options.at.schedule = schedule_of_stage("gpipe", 0, stages, microbatches);
        if (stages > 1)
            its_state.neighbours.next = {number(next_number)};
        compute_context context{*world.ops, world.memory};
        auto first = std::make_shared<weights>(
            **its_options.program->initialise(context, its_options.seed, 0));
        first->version = weight_version{100};
        its_state.weights.set(std::move(first));
        begin_epoch(4, microbatches);
    }

    std::uint32_t rows() { return its_state.arrivals.shape().rows_of(0, 0).count; }
    tensor rows_of(std::uint32_t columns, float value) {
        return world.floats(std::vector<float>(std::size_t{rows()} * columns, value))
            .reshaped({rows(), columns});
    }
    void activation_arrives(std::uint32_t microbatch, float value = 1) {
        const auto f = from<proto::Activation>(previous_number, {rows_of(3, value)},
                                               [&](proto::Activation::Builder b) {
                                                   b.setMinibatch(40);
                                                   b.setMicrobatch(microbatch);
                                                   b.setWeightVersion(97);
                                               });
        BOOST_TEST_REQUIRE(bool(its_state.arrivals.take_activation(f, its_state.order)));
    }
    void labels_arrive(std::uint32_t microbatch) {
        tensor classes = world.integers(rows());
        std::ranges::fill(classes.mutable_values<std::int32_t>(), 1);
        const auto f =
            from<proto::Labels>(previous_number, {classes}, [&](proto::Labels::Builder b) {
                b.setMinibatch(40);
                b.setMicrobatch(microbatch);
                b.setCounted(samples);
            });
        BOOST_TEST_REQUIRE(bool(its_state.arrivals.take_labels(f)));
    }
    result<void> gradient_arrives(std::uint32_t microbatch, std::uint64_t version = 100) {
        return its_state.arrivals.take_gradient(
            from<proto::Gradient>(next_number, {rows_of(2, 1)},
                                  [&](proto::Gradient::Builder b) {
                                      b.setMinibatch(40);
                                      b.setMicrobatch(microbatch);
                                      b.setWeightVersion(version);
                                  }),
            passes.in_flight());
    }
    void run(result<stage_work> pass) {
        BOOST_TEST_REQUIRE(bool(pass));
        submit(std::move(pass).value());
        do_work();
    }
    void run_forward(std::uint32_t microbatch, std::uint64_t reading = 0) {
        const instruction i{step_kind::forward, 0, microbatch};
        run(passes.forward(i, reading));
        its_state.order.finish(i, its_state.arrivals.shape());
    }
    // As with an agreement of replicas that adds up.
    void run_backward(std::uint32_t microbatch) {
        run(passes.backward(
            {step_kind::backward, 0, microbatch}, nullptr,
            [this](pass_gradients made) { its_state.gradients = std::move(made.sum); }));
    }
    std::vector<float> summed() {
        const auto values = its_state.gradients.at(0).values<float>();
        return {values.begin(), values.end()};
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(passes_of_stages)

BOOST_AUTO_TEST_CASE(an_activation_goes_on_and_its_gradient_comes_back) {
    passing_stage stage{2, 1};
    const instruction there{step_kind::forward, 0, 0}, back{step_kind::backward, 0, 0};
    BOOST_TEST(!stage.passes.has_inputs(there));
    stage.activation_arrives(0);
    BOOST_TEST(stage.passes.has_inputs(there));
    stage.run_forward(0, 7);
    const auto sent = stage.last_to<proto::Activation>(next_number);
    BOOST_TEST(sent.getMinibatch() == 40u);
    BOOST_TEST(sent.getWeightVersion() == 100u);
    BOOST_TEST((stage.sent.back().second->tensors()[0].shape() == tensor_shape{samples, 2}));
    BOOST_TEST(stage.passes.in_flight() == 1u);
    BOOST_TEST(stage.passes.kept().microbatches == 1u);

    BOOST_TEST(!stage.passes.has_inputs(back));
    BOOST_TEST_REQUIRE(bool(stage.gradient_arrives(0)));
    BOOST_TEST(stage.passes.has_inputs(back));
    std::size_t taken = 0;
    stage.run(stage.passes.backward(back, nullptr, [&](pass_gradients made) {
        ++taken;
        BOOST_TEST(made.sum.size() == 2u); // weights and biases
        BOOST_TEST(made.used.value() == 100u);
        BOOST_TEST(made.reading == 7u);
        BOOST_TEST(stage.sent.size() == 1u); // before Gradient
    }));
    BOOST_TEST(taken == 1u);
    const auto answer = stage.last_to<proto::Gradient>(previous_number);
    BOOST_TEST(answer.getMinibatch() == 40u);
    BOOST_TEST(answer.getWeightVersion() == 97u); // the sender's
    BOOST_TEST(stage.passes.in_flight() == 0u);
    BOOST_TEST(stage.passes.kept().bytes == 0u);
}

BOOST_AUTO_TEST_CASE(a_backward_pass_uses_the_weights_of_its_forward_pass) {
    passing_stage stage{2, 1};
    stage.activation_arrives(0);
    stage.run_forward(0, 0);
    auto later = std::make_shared<weights>(*stage.its_state.weights.latest());
    later->version = weight_version{101};
    stage.its_state.weights.set(std::move(later));
    BOOST_TEST_REQUIRE(bool(stage.gradient_arrives(0)));
    auto work =
        stage.passes.backward({step_kind::backward, 0, 0}, nullptr,
                              [](pass_gradients made) { BOOST_TEST(made.used.value() == 100u); });
    BOOST_TEST_REQUIRE(bool(work));
    BOOST_TEST(work->version.value() == 100u);
    stage.run(std::move(work));
}

BOOST_AUTO_TEST_CASE(gradients_of_a_minibatch_are_summed_over_its_microbatches) {
    passing_stage stage{2, 2};
    for (std::uint32_t m = 0; m < 2; ++m) {
        stage.activation_arrives(m);
        stage.run_forward(m, 0);
    }
    BOOST_TEST(stage.passes.in_flight() == 2u);
    BOOST_TEST_REQUIRE(bool(stage.gradient_arrives(0)));
    BOOST_TEST_REQUIRE(bool(stage.gradient_arrives(1)));
    stage.run_backward(0);
    const std::vector<float> once = stage.summed();
    stage.run_backward(1); // of the same numbers
    const std::vector<float> twice = stage.summed();
    BOOST_TEST(once[0] != 0);
    for (std::size_t i = 0; i < once.size(); ++i)
        BOOST_TEST(twice[i] == 2 * once[i]);
}

BOOST_AUTO_TEST_CASE(the_last_stage_tells_the_loss_of_a_whole_minibatch_and_needs_no_gradient) {
    passing_stage stage{1, 2};
    stage.activation_arrives(0);
    BOOST_TEST(!stage.passes.has_inputs({step_kind::forward, 0, 0})); // labels are to come
    stage.labels_arrive(0);
    stage.run_forward(0, 0);
    BOOST_TEST(stage.sent.empty());
    stage.activation_arrives(1);
    stage.labels_arrive(1);
    stage.run_forward(1, 0);
    const auto done = stage.last_to<proto::MinibatchDone>(trainer_number);
    BOOST_TEST(done.getMinibatch() == 40u);
    BOOST_TEST(done.getSamples() == samples);
    BOOST_TEST(done.getCounted() == samples);
    BOOST_TEST(done.getLossSum() > 0);
    BOOST_TEST(stage.passes.has_inputs({step_kind::backward, 0, 0}));
    stage.run_backward(0);
    stage.last_to<proto::Gradient>(previous_number);
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_not_a_number_is_an_error_of_the_work) {
    passing_stage stage{1, 1};
    stage.activation_arrives(0, std::nanf(""));
    stage.labels_arrive(0);
    auto work = stage.passes.forward({step_kind::forward, 0, 0}, 0);
    BOOST_TEST_REQUIRE(bool(work));
    compute_context context{*stage.world.ops, stage.world.memory};
    copied_weights copies;
    const auto done = work->work(context, copies);
    BOOST_TEST_REQUIRE(!done);
    BOOST_TEST((done.failure().code() == errc::numeric));
    BOOST_TEST(done.failure().message().starts_with("the loss of minibatch 40 is not a number"));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_its_pass_is_an_error_of_the_pass) {
    passing_stage last{1, 2};
    last.activation_arrives(0);
    last.labels_arrive(1);
    const auto labelled = last.passes.forward({step_kind::forward, 0, 0}, 0);
    BOOST_TEST_REQUIRE(!labelled);
    BOOST_TEST(labelled.failure().message() ==
               "labels of minibatch 40 microbatch 1 arrive where minibatch 40 microbatch 0 is due");
    passing_stage first{2, 1};
    first.activation_arrives(0);
    first.run_forward(0, 0);
    BOOST_TEST_REQUIRE(bool(first.gradient_arrives(0, 99)));
    const auto late =
        first.passes.backward({step_kind::backward, 0, 0}, nullptr, [](pass_gradients) {});
    BOOST_TEST_REQUIRE(!late);
    BOOST_TEST(late.failure().message() ==
               "gradient of minibatch 40 microbatch 0 is for weight version 99, stashed is 100");
}

BOOST_AUTO_TEST_SUITE_END()
