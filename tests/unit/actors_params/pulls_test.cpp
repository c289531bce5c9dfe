// What a worker reads on the shard's own node: the shard's tensors themselves, which nothing writes over while they are
// held, and one answer to one question, however long the rule holds it.
#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include "actors/params/parameter_cache.hpp"
#include "actors/params/parameter_shard.hpp"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// A shard of one parameter of two elements, with a rate of 1; worker 0 is a stage with its cache, worker 1 another's.
struct served_stage : puppet_stage {
    part& stage = add<proto::ServerJoined, proto::Fetched, proto::EpochFinished>("stage");
    part& other = add<proto::Pulled, proto::PullAgain, proto::WorkerDoneTaken>("other");
    actor_address shard, cache;
    const tensor first = floats({5, 6}), gradient = floats({1, 2});

    explicit served_stage(const consistency& rule = {},
                          const delay_compensation& compensation = {}) {
        capnp::MallocMessageBuilder message;
        auto description = message.initRoot<proto::Optimizer>();
        description.initSgd().setLearningRate(1);
        parameter_shard_options of_shard;
        of_shard.rules.rule = rule;
        of_shard.rules.compensation = compensation;
        of_shard.rules.optimizer = make_optimizer(description.asReader());
        of_shard.workers = 2;
        of_shard.shapes = {{2}};
        of_shard.rates = [](std::uint64_t) { return 1.0f; };
        of_shard.compute = shared_device();
        shard = node.spawn<parameter_shard>("shard", std::move(of_shard));
        parameter_cache_options of_cache;
        of_cache.ranges = {{0, 1}};
        of_cache.shapes = {{2}};
        cache = node.spawn<parameter_cache>("cache", std::move(of_cache));
        watch(stage, cache);
        frame_builder<proto::JoinServer> join;
        write_address(join.body().initShards(1)[0], shard);
        write_address(join.body().initKeeps(), shard);
        join.body().initUpdates(1);
        join.attach(first);
        say(stage, cache, std::move(join));
        say(stage, cache, frame_builder<proto::EnterEpoch>{});
    }

    void offer(std::uint64_t clock) {
        frame_builder<proto::Offer> offer;
        offer.body().setClock(clock);
        offer.attach(gradient);
        say(stage, cache, std::move(offer));
    }
    void push_other(std::uint64_t clock) {
        frame_builder<proto::Push> push;
        push.body().setWorker(1);
        push.body().setClock(clock);
        push.attach(gradient);
        say(other, shard, std::move(push));
    }
    void pull_other(std::uint64_t clock) {
        frame_builder<proto::Pull> pull;
        pull.body().setWorker(1);
        pull.body().setClock(clock);
        say(other, shard, std::move(pull));
    }

    std::size_t answers() const { return stage.log.all<proto::Fetched>().size(); }
    tensor last_fetched() const { return stage.log.all<proto::Fetched>().back()->tensors()[0]; }
    std::ptrdiff_t pulls_of_stage() {
        return std::ranges::count_if(
            node.trace().read(0, 1u << 12).events, [&](const trace_event& e) {
                return e.kind == trace_kind::message && e.type == type_id_of<proto::Pull>() &&
                       e.to_actor == shard.actor && e.from_actor == cache.actor;
            });
    }
};

using two_numbers = std::vector<float>;

} // namespace

BOOST_AUTO_TEST_SUITE(pulls)

BOOST_FIXTURE_TEST_CASE(what_is_read_on_the_shards_node_is_what_the_shard_keeps, served_stage) {
    BOOST_TEST(last_fetched().data() == first.data());
    offer(0);
    pull_other(0);
    const auto pulled = other.log.all<proto::Pulled>();
    BOOST_REQUIRE(pulled.size() == 1u);
    BOOST_TEST(values_of(last_fetched()) == (two_numbers{4, 4}));
    BOOST_TEST(pulled[0]->tensors()[0].data() == last_fetched().data());
    BOOST_TEST(last_fetched().data() != first.data());
}

BOOST_FIXTURE_TEST_CASE(what_is_held_of_an_old_version_stays_as_it_was, served_stage) {
    pull_other(0);
    for (std::uint64_t clock = 0; clock < 4; ++clock) {
        offer(clock);
        push_other(clock);
        pull_other(clock + 1);
    }
    const auto fetched = stage.log.all<proto::Fetched>();
    const auto pulled = other.log.all<proto::Pulled>();
    BOOST_REQUIRE(fetched.size() == 5u);
    BOOST_REQUIRE(pulled.size() == 5u);
    for (std::size_t k = 0; k < 5; ++k) { // two updates each time, between which the stage reads
        const float updates_pulled = 2 * static_cast<float>(k);
        const float updates_fetched = k == 0 ? 0 : updates_pulled - 1;
        BOOST_TEST(values_of(pulled[k]->tensors()[0]) ==
                   (two_numbers{5 - updates_pulled, 6 - 2 * updates_pulled}));
        BOOST_TEST(values_of(fetched[k]->tensors()[0]) ==
                   (two_numbers{5 - updates_fetched, 6 - 2 * updates_fetched}));
    }
}

BOOST_AUTO_TEST_CASE(a_read_that_is_held_is_asked_for_once_and_answered_once) {
    for (const consistency& rule : {consistency{.staleness = 0}, consistency{.staleness = 1},
                                    consistency{.bound = 0.f}, consistency{.backups = 0}}) {
        served_stage s{rule};
        std::uint64_t pushes = 0;
        while (s.answers() == pushes + 1 && pushes < 5)
            s.offer(pushes++);
        BOOST_TEST(pushes == (rule.staleness == 1u ? 2u : 1u));
        const auto asked = static_cast<std::ptrdiff_t>(pushes) + 1; // at the beginning, too
        s.sim.run_for(std::chrono::minutes{10});
        BOOST_TEST(s.pulls_of_stage() == asked);
        BOOST_TEST(s.answers() == pushes);
        s.push_other(0);
        s.pull_other(1);
        BOOST_TEST(s.answers() == pushes + 1);
        s.sim.run_for(std::chrono::minutes{10});
        BOOST_TEST(s.pulls_of_stage() == asked);
        BOOST_TEST(s.answers() == pushes + 1);
        BOOST_TEST(s.other.log.all<proto::Pulled>().size() == 1u);
        BOOST_TEST(s.stage.log.downs.empty());
    }
}

// As one does whose gradients are of weights before the last that it has read: of a pipeline, or called back.
BOOST_AUTO_TEST_CASE(
    a_delay_is_compensated_by_the_weights_of_the_push_not_by_the_last_that_were_read) {
    served_stage s{{}, {.compensates = true, .factor = 1, .decay = {}}};
    s.pull_other(0);
    s.offer(0); // 4 4
    s.pull_other(0);
    s.push_other(0); // of 5 6
    s.pull_other(1);
    const auto pulled = s.other.log.all<proto::Pulled>();
    BOOST_REQUIRE(pulled.size() == 3u);
    BOOST_TEST(values_of(pulled[1]->tensors()[0]) == (two_numbers{4, 4}));
    // 4 - (1 + 1 * 1 * (4 - 5)), 4 - (2 + 2 * 2 * (4 - 6))
    BOOST_TEST(values_of(pulled[2]->tensors()[0]) == (two_numbers{4, 10}));
}

// It may wait at another shard for the one that waits here.
BOOST_AUTO_TEST_CASE(who_has_its_answer_when_another_waits_for_it_is_called_back_once) {
    served_stage s{{.bound = 0.f}};
    s.pull_other(0);
    s.offer(0);
    BOOST_TEST(s.answers() == 1u); // at the beginning
    const auto calls = s.other.log.all<proto::PullAgain>();
    BOOST_REQUIRE(calls.size() == 1u);
    BOOST_TEST(calls[0]->body<proto::PullAgain>().getEpoch() == 0u);
    BOOST_TEST(calls[0]->body<proto::PullAgain>().getClock() == 0u);
    s.pull_other(0);
    BOOST_TEST(s.answers() == 2u);
    const auto pulled = s.other.log.all<proto::Pulled>();
    BOOST_REQUIRE(pulled.size() == 2u);
    BOOST_TEST(values_of(pulled[1]->tensors()[0]) == (two_numbers{4, 4}));
    s.offer(1); // this time it computes
    s.push_other(0);
    BOOST_TEST(s.other.log.all<proto::PullAgain>().size() == 2u);
    BOOST_TEST(s.answers() == 2u);
    s.pull_other(1);
    BOOST_TEST(s.answers() == 3u);
    BOOST_TEST(s.other.log.all<proto::PullAgain>().size() == 2u);
    BOOST_TEST(s.stage.log.downs.empty());
}

BOOST_AUTO_TEST_CASE(nobody_is_called_back_by_another_rule) {
    for (const consistency& rule :
         {consistency{.staleness = 0}, consistency{.staleness = 1}, consistency{},
          consistency{.splits = 1}, consistency{.backups = 0}}) {
        served_stage s{rule};
        s.pull_other(0);
        for (std::uint64_t clock = 0; clock < 2 && s.answers() == clock + 1; ++clock)
            s.offer(clock);
        BOOST_TEST(s.other.log.all<proto::PullAgain>().empty());
    }
}

BOOST_AUTO_TEST_SUITE_END()
