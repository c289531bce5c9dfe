// A cache between a stage and shards that keep to the protocol or do not.
#include <boost/test/unit_test.hpp>

#include "actors/params/parameter_cache.hpp"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

template <class Body>
frame_builder<Body> with(frame_builder<Body> b, const std::vector<tensor>& tensors) {
    for (const tensor& t : tensors)
        b.attach(t);
    return b;
}

frame_builder<proto::Pulled> pulled(std::uint64_t clock, const std::vector<tensor>& tensors) {
    frame_builder<proto::Pulled> b;
    b.body().setClock(clock);
    b.body().setWeightVersion(clock);
    return with(std::move(b), tensors);
}

frame_builder<proto::WorkerDoneTaken> taken(std::uint32_t epoch) {
    frame_builder<proto::WorkerDoneTaken> b;
    b.body().setEpoch(epoch);
    return b;
}

// Three parameters of 2, 3 and 1 elements, with one tensor of the optimizer's each; the second shard keeps two of them.
struct one_cache : puppet_stage {
    part& stage = add<proto::ServerJoined, proto::Fetched, proto::EpochFinished>("stage");
    part& first = add<proto::Push, proto::Pull, proto::WorkerDone, proto::ReadShard>("first");
    part& second = add<proto::Push, proto::Pull, proto::WorkerDone, proto::ReadShard>("second");
    part& stranger = add<>("stranger");
    actor_address cache;

    const tensor a = floats({1, 2}), b = floats({3, 4, 5}), c = floats({6});

    one_cache() {
        cache =
            node.spawn<parameter_cache>("cache", parameter_cache_options{.ranges = {{0, 1}, {1, 2}},
                                                                         .shapes = {{2}, {3}, {1}},
                                                                         .state_per_parameter = 1});
        watch(stage, cache);
        frame_builder<proto::JoinServer> join;
        auto shards = join.body().initShards(2);
        write_address(shards[0], first.address);
        write_address(shards[1], second.address);
        say(stage, cache, with(std::move(join), {a, b, c, a, b, c}));
    }

    frame_builder<proto::Offer> offered(std::uint64_t clock) {
        frame_builder<proto::Offer> offer;
        offer.body().setClock(clock);
        offer.body().setMinibatch(42);
        offer.envelope().setMinibatch(42);
        return with(std::move(offer), {a, b, c});
    }
    void offer(std::uint64_t clock) { say(stage, cache, offered(clock)); }
    void finish(std::uint32_t epoch) {
        frame_builder<proto::FinishEpoch> done;
        done.body().setEpoch(epoch);
        say(stage, cache, std::move(done));
    }
    void check_ended(const std::string& sentence) {
        BOOST_REQUIRE(stage.log.downs.size() == 1u);
        BOOST_TEST(stage.log.downs[0].find(sentence) != std::string::npos, stage.log.downs[0]);
        BOOST_TEST(stage.log.all<proto::Fetched>().empty());
    }
};

const char* const not_asked = "is not to what it was asked";
const char* const not_its_tensors = "has not the tensors of the shard's parameters";

} // namespace

BOOST_AUTO_TEST_SUITE(parameter_caches)

BOOST_FIXTURE_TEST_CASE(what_the_shards_answer_is_put_together_in_the_stages_order, one_cache) {
    offer(0);
    for (const part* shard : {&first, &second}) {
        BOOST_REQUIRE(shard->log.got.size() == 2u);
        for (const frame_ptr& f : shard->log.got)
            BOOST_TEST(f->envelope().getMinibatch() == 42u);
    }
    say(second, cache, pulled(1, {b, c}));
    say(first, cache, pulled(1, {a}));
    say(stage, cache, frame_builder<proto::Refresh>{});
    say(second, cache, with(frame_builder<proto::ShardRead>{}, {b, c, b, c}));
    say(first, cache, with(frame_builder<proto::ShardRead>{}, {a, a}));
    finish(0);
    say(first, cache, taken(0));
    say(second, cache, taken(0));
    BOOST_TEST(stage.log.downs.empty());
    BOOST_TEST(stage.log.all<proto::EpochFinished>().size() == 1u);
    const auto fetched = stage.log.all<proto::Fetched>();
    BOOST_REQUIRE(fetched.size() == 2u);
    BOOST_TEST(fetched[0]->envelope().getMinibatch() == 42u);
    const std::size_t sizes[] = {2, 3, 1, 2, 3, 1};
    for (std::size_t k = 0; k < 2; ++k) {
        BOOST_REQUIRE(fetched[k]->tensors().size() == 3 * (k + 1));
        for (std::size_t i = 0; i < fetched[k]->tensors().size(); ++i)
            BOOST_TEST(fetched[k]->tensors()[i].elements() == sizes[i]);
    }
}

BOOST_FIXTURE_TEST_CASE(who_has_no_part_in_it_is_refused, one_cache) {
    say(stranger, cache, pulled(1, {a}));
    say(stranger, cache, offered(0));
    say(stranger, cache, frame_builder<proto::Refresh>{});
    BOOST_TEST(stranger.log.rejected.size() == 3u);
    offer(0);
    offer(1); // before the answer
    BOOST_TEST(stage.log.rejected.size() == 1u);
    BOOST_TEST(stage.log.downs.empty());
    BOOST_TEST(first.log.got.size() == 2u);
}

// The other shard's answer, read as the same type, would end the process.
BOOST_AUTO_TEST_CASE(an_answer_of_another_type_ends_it) {
    for (const bool is_read : {false, true}) {
        one_cache s;
        s.offer(0);
        if (is_read)
            s.say(s.first, s.cache, with(frame_builder<proto::ShardRead>{}, {s.a}));
        else
            s.say(s.first, s.cache, taken(1));
        s.say(s.second, s.cache, pulled(1, {s.b, s.c}));
        s.check_ended(std::string{"an answer of shard 0: "} + not_asked);
    }
    one_cache s;
    s.finish(0);
    s.say(s.first, s.cache, pulled(0, {s.a}));
    s.say(s.second, s.cache, taken(0));
    s.check_ended(not_asked);
}

BOOST_FIXTURE_TEST_CASE(an_answer_that_nobody_asked_for_ends_it, one_cache) {
    say(second, cache, pulled(1, {b, c}));
    check_ended(std::string{"an answer of shard 1: "} + not_asked);
}

BOOST_FIXTURE_TEST_CASE(an_answer_that_comes_twice_ends_it, one_cache) {
    offer(0);
    say(first, cache, pulled(1, {a}));
    say(first, cache, pulled(1, {a}));
    check_ended(not_asked);
}

BOOST_FIXTURE_TEST_CASE(an_answer_of_another_clock_ends_it, one_cache) {
    offer(0);
    say(first, cache, pulled(0, {a}));
    check_ended(not_asked);
}

BOOST_FIXTURE_TEST_CASE(an_answer_of_another_epoch_ends_it, one_cache) {
    finish(1);
    say(first, cache, taken(0));
    check_ended(not_asked);
}

BOOST_AUTO_TEST_CASE(an_answer_of_other_tensors_ends_it) {
    for (int what = 0; what < 4; ++what) {
        one_cache s;
        const std::vector<tensor> answers[] = {
            {s.b}, {s.b, s.c, s.c}, {s.b, s.b}, {s.b, s.integers(1)}};
        s.offer(0);
        s.say(s.second, s.cache, pulled(1, answers[what]));
        s.check_ended(std::string{"an answer of shard 1: "} + not_its_tensors);
    }
    one_cache s; // the optimizer's
    s.say(s.stage, s.cache, frame_builder<proto::Refresh>{});
    s.say(s.second, s.cache, with(frame_builder<proto::ShardRead>{}, {s.b, s.c, s.c, s.b}));
    s.check_ended(not_its_tensors);
}

BOOST_FIXTURE_TEST_CASE(a_shard_that_refuses_ends_it, one_cache) {
    act(second, [](puppet& self) { self.refuse(); });
    offer(0);
    check_ended("a shard refused a message: no");
}

BOOST_AUTO_TEST_SUITE_END()
