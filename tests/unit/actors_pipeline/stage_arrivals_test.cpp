// What a stage takes of its neighbours, in which order, and what it refuses.
#include <boost/test/unit_test.hpp>

#include "actors/pipeline/stage/stage_arrivals.hpp"
#include "tests/support/stage_schedules.hpp"

using namespace troupe;
using test::schedule_of_stage;

namespace {

actor_address replica(std::uint64_t number) {
    return {node_id{1}, actor_number{number}};
}

result<void> fits(std::span<const tensor>, std::uint32_t) {
    return {};
}

// Stage 1 of 2; the stage before has replicas 10, 11, ..., the one behind 20, 21, ...
struct one_stage {
    stage_arrivals arrivals;
    stage_order order;
    std::uint32_t stages = 2;

    explicit one_stage(std::size_t before = 1, replica_place own = {}, bool is_dynamic = false,
                       std::size_t behind = 1, std::uint32_t microbatches = 1) {
        arrival_rules rules;
        stages = behind > 0 ? 3 : 2;
        rules.at.place = {1, stages};
        rules.at.replica = own;
        rules.is_dynamic = is_dynamic;
        if (!is_dynamic && (before > 1 || own.replicas > 1 || behind > 1))
            rules.at.place.stages_differ = true;
        for (std::size_t r = 0; r < before; ++r)
            rules.previous.push_back(replica(10 + r));
        for (std::size_t r = 0; r < behind; ++r)
            rules.next.push_back(replica(20 + r));
        rules.inputs = rules.labels = rules.gradients = fits;
        rules.at.schedule = schedule_of_stage("pipedream", 1, stages, microbatches);
        order = stage_order{rules.at.schedule.steps};
        arrivals = stage_arrivals{std::move(rules)};
    }

    result<bool> begin(std::uint64_t minibatches, std::uint32_t microbatches = 1,
                       std::uint32_t epoch = 0) {
        frame_builder<proto::EpochBegin> b;
        b.body().setEpoch(epoch);
        b.body().setFirstMinibatch(100);
        b.body().setMinibatches(minibatches);
        b.body().setSamplesPerMinibatch(8);
        b.body().setSamplesInLast(8);
        b.body().setMicrobatches(microbatches);
        order.begin_epoch();
        return arrivals.begin(b.body().asReader(), weight_version{100});
    }
    template <class Body>
    static frame_ptr message(std::uint64_t minibatch, std::uint64_t from,
                             std::uint64_t version = 100, std::uint32_t microbatch = 0) {
        frame_builder<Body> b;
        b.body().setMinibatch(minibatch);
        b.body().setMicrobatch(microbatch);
        if constexpr (!std::is_same_v<Body, proto::Labels>)
            b.body().setWeightVersion(version);
        b.envelope().getFrom().setNode(1);
        b.envelope().getFrom().setActor(from);
        return std::move(b).finish();
    }
    result<void> activation(std::uint64_t minibatch, std::uint64_t from = 10,
                            std::uint64_t version = 100, std::uint32_t microbatch = 0) {
        return arrivals.take_activation(
            message<proto::Activation>(minibatch, from, version, microbatch), order);
    }
    result<bool> end(std::uint64_t minibatches, std::uint64_t own, std::uint64_t from = 10) {
        frame_builder<proto::EndOfData> b;
        b.body().setMinibatches(minibatches);
        b.body().setOwn(own);
        b.envelope().getFrom().setNode(1);
        b.envelope().getFrom().setActor(from);
        return arrivals.take_end(*std::move(b).finish(), order);
    }
    std::uint64_t next_minibatch() {
        order.finish(order.expected_activation(0, arrivals.shape()), arrivals.shape());
        return arrivals.next_activation()->body<proto::Activation>().getMinibatch();
    }
};

bool refused(const result<void>& r, const std::string& why) {
    return !r && r.failure().message().find(why) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(arrivals_of_a_stage)

BOOST_AUTO_TEST_CASE(activations_come_in_the_order_of_forward_passes) {
    one_stage s{1, {}, false, 1, 2};
    BOOST_TEST(refused(s.activation(100), "outside an epoch"));
    BOOST_TEST_REQUIRE(s.begin(3, 2).value());
    BOOST_TEST(refused(s.activation(101), "arrives where minibatch 100 microbatch 0 is due"));
    BOOST_TEST(bool(s.activation(100)));
    BOOST_TEST(refused(s.activation(100), "microbatch 1 is due")); // again
    BOOST_TEST(bool(s.activation(100, 10, 100, 1)));
    BOOST_TEST(refused(s.activation(101, 11), "replica that has not this minibatch"));
    BOOST_TEST(refused(s.activation(101, 10, 102), "the schedule says"));
    BOOST_TEST(bool(s.activation(101)));
    BOOST_TEST(s.next_minibatch() == 100u);
    BOOST_TEST(s.arrivals.waiting() == 2u);
}

BOOST_AUTO_TEST_CASE(one_that_has_overtaken_another_replica_waits_for_its_turn) {
    one_stage s{2};
    BOOST_TEST_REQUIRE(s.begin(4).value());
    BOOST_TEST(!s.begin(4).value()); // the other replica of the stage before says so, too
    BOOST_TEST(bool(s.activation(101, 11)));
    BOOST_TEST(!s.arrivals.has_activation());
    BOOST_TEST(bool(s.activation(100, 10)));
    BOOST_TEST(s.arrivals.waiting() == 2u);
    BOOST_TEST(s.next_minibatch() == 100u);
    BOOST_TEST(s.next_minibatch() == 101u);
}

BOOST_AUTO_TEST_CASE(a_second_epoch_and_impossible_ones_are_refused) {
    one_stage s;
    BOOST_TEST(!s.begin(0));
    BOOST_TEST(!s.begin(3, 0));
    BOOST_TEST(s.begin(3).value());
    BOOST_TEST(!s.begin(3, 1, 1));
}

BOOST_AUTO_TEST_CASE(an_epoch_ends_when_all_of_the_stage_before_say_so_with_what_came) {
    one_stage s{2};
    BOOST_TEST_REQUIRE(s.begin(4).value());
    BOOST_TEST(bool(s.activation(100, 10)));
    BOOST_TEST(bool(s.activation(101, 11)));
    BOOST_TEST(!s.end(2, 0, 10).value());
    BOOST_TEST(!s.end(2, 0, 10)); // twice
    BOOST_TEST(!s.arrivals.data_has_ended());
    BOOST_TEST(s.end(2, 0, 11).value());
    BOOST_TEST(s.arrivals.data_has_ended());
    BOOST_TEST(refused(s.activation(102, 10), "outside an epoch"));

    one_stage misses;
    BOOST_TEST_REQUIRE(misses.begin(4).value());
    BOOST_TEST(bool(misses.activation(100)));
    BOOST_TEST(!misses.end(2, 0)); // it had only one
}

BOOST_AUTO_TEST_CASE(a_gradient_is_of_the_pass_and_the_version_that_are_due) {
    one_stage s;
    BOOST_TEST_REQUIRE(s.begin(3).value());
    const instruction backward{step_kind::backward, 0, 0};
    const auto gradient = [&](std::uint64_t minibatch, std::uint64_t version) {
        return one_stage::message<proto::Gradient>(minibatch, 20, version);
    };
    BOOST_TEST(refused(s.arrivals.take_gradient(gradient(100, 100), 0), "none is due"));
    BOOST_TEST(!s.arrivals.has_gradient(backward));
    BOOST_TEST(bool(s.arrivals.take_gradient(gradient(100, 100), 1)));
    BOOST_TEST(refused(s.arrivals.take_gradient(gradient(101, 100), 1), "none is due"));
    BOOST_TEST(s.arrivals.has_gradient(backward));
    BOOST_TEST(!s.arrivals.next_gradient(backward, weight_version{99})); // of another version
    BOOST_TEST(!s.arrivals.next_gradient({step_kind::backward, 1, 0}, weight_version{100}));
    BOOST_TEST(bool(s.arrivals.next_gradient(backward, weight_version{100})));
}

BOOST_AUTO_TEST_CASE(gradients_of_several_replicas_wait_in_the_order_of_their_minibatches) {
    one_stage s{1, {}, false, 2};
    BOOST_TEST_REQUIRE(s.begin(4).value());
    BOOST_TEST(bool(s.arrivals.take_gradient(one_stage::message<proto::Gradient>(101, 21), 2)));
    BOOST_TEST(!s.arrivals.has_gradient({step_kind::backward, 0, 0}));
    BOOST_TEST(bool(s.arrivals.take_gradient(one_stage::message<proto::Gradient>(100, 20), 2)));
    BOOST_TEST(s.arrivals.has_gradient({step_kind::backward, 0, 0}));
    BOOST_TEST(bool(s.arrivals.next_gradient({step_kind::backward, 0, 0}, weight_version{100})));
    BOOST_TEST(bool(s.arrivals.next_gradient({step_kind::backward, 1, 0}, weight_version{100})));
}

BOOST_AUTO_TEST_CASE(labels_go_to_the_last_stage_alone_and_may_come_before_the_epoch) {
    one_stage last{1, {}, false, 0};
    BOOST_TEST(bool(last.arrivals.take_labels(one_stage::message<proto::Labels>(100, 1))));
    BOOST_TEST_REQUIRE(last.begin(2).value());
    BOOST_TEST(!last.arrivals.next_labels({step_kind::forward, 1, 0}));
    BOOST_TEST(bool(last.arrivals.next_labels({step_kind::forward, 0, 0})));
    BOOST_TEST(!last.arrivals.has_labels());
    one_stage middle;
    BOOST_TEST(refused(middle.arrivals.take_labels(one_stage::message<proto::Labels>(100, 1)),
                       "none are due"));
}

BOOST_AUTO_TEST_CASE(minibatches_that_are_assigned_dynamically_are_whichever_come) {
    one_stage s{1, {0, 2}, true};
    BOOST_TEST_REQUIRE(s.begin(6).value());
    BOOST_TEST(bool(s.activation(102)));
    BOOST_TEST(!bool(s.activation(101))); // comes too late
    BOOST_TEST(bool(s.activation(105)));
    BOOST_TEST(s.arrivals.share().run_minibatch(1) == 105u);
    BOOST_TEST(!s.end(6, 3));
    one_stage other{1, {0, 2}, true};
    BOOST_TEST_REQUIRE(other.begin(6).value());
    BOOST_TEST(bool(other.activation(102)));
    BOOST_TEST(other.end(6, 1).value());
}

BOOST_AUTO_TEST_SUITE_END()
