// A cache between a stage and shards that keep to the protocol or do not.
#include <boost/test/unit_test.hpp>

#include "actors/params/parameter_cache.hpp"
#include "actors/update_counts.hpp"
#include "kernels/codec/codecs.hpp"
#include "schemas/collective.capnp.h"
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

frame_builder<proto::PullAgain> call_back(std::uint64_t clock) {
    frame_builder<proto::PullAgain> b;
    b.body().setEpoch(3);
    b.body().setClock(clock);
    return b;
}

frame_builder<proto::ShardRead> shard_read(const std::vector<std::uint64_t>& updates,
                                           const std::vector<tensor>& tensors) {
    frame_builder<proto::ShardRead> b;
    write_counts(b.body().initUpdates(static_cast<unsigned>(updates.size())), updates);
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
    part& second =
        add<proto::KeepShard, proto::Push, proto::Pull, proto::WorkerDone, proto::ReadShard>(
            "second");
    part& stranger = add<>("stranger");
    actor_address cache;

    const tensor a = floats({1, 2}), b = floats({3, 4, 5}), c = floats({6});

    explicit one_cache(codec_ptr codec = nullptr, std::size_t members = 1) {
        parameter_cache_options options;
        options.ranges = {{0, 1}, {1, 2}};
        options.shapes = {{2}, {3}, {1}};
        options.state_per_parameter = 1;
        options.codec = std::move(codec);
        options.members = members;
        options.compute = shared_device();
        cache = node.spawn<parameter_cache>("cache", std::move(options));
        watch(stage, cache);
        join(stage);
    }

    void join(part& by, actor_address keeps = {}) {
        frame_builder<proto::JoinServer> join;
        auto shards = join.body().initShards(2);
        write_address(shards[0], first.address);
        write_address(shards[1], second.address);
        write_address(join.body().initKeeps(), keeps);
        write_counts(join.body().initUpdates(3), std::vector<std::uint64_t>{7, 8, 9});
        say(by, cache, with(std::move(join), {a, b, c, a, b, c}));
    }

    frame_builder<proto::Offer> offered(std::uint64_t clock) {
        frame_builder<proto::Offer> offer;
        offer.body().setClock(clock);
        offer.body().setMinibatch(42);
        offer.envelope().setWork(42);
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

// What is pushed are payloads: of each parameter the largest half.
struct compressed_cache : one_cache {
    const codec_ptr how = make_top_codec(0.5f);

    explicit compressed_cache(std::size_t members = 1)
        : one_cache{with_error_feedback(make_top_codec(0.5f)), members} {}

    // Of the push of this number to a shard; no other tensor is sent.
    std::vector<float> pushed(const part& to, std::size_t number, std::size_t t,
                              const tensor_shape& shape) {
        const auto pushes = to.log.all<proto::Push>();
        BOOST_REQUIRE(number < pushes.size());
        BOOST_TEST(pushes[number]->body<proto::Push>().getClock() == number);
        const tensor payload = pushes[number]->tensors()[t];
        BOOST_TEST(payload.bytes() == how->payload_bytes(shape));
        compute_context context{*ops, memory};
        return values_of(decoded(context, *how, shape, payload).value());
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
            BOOST_TEST(f->envelope().getWork() == 42u);
    }
    say(second, cache, pulled(1, {b, c}));
    say(first, cache, pulled(1, {a}));
    say(stage, cache, frame_builder<proto::Refresh>{});
    say(second, cache, shard_read({6, 4}, {b, c, b, c}));
    say(first, cache, shard_read({5}, {a, a}));
    finish(0);
    say(first, cache, taken(0));
    say(second, cache, taken(0));
    BOOST_TEST(stage.log.downs.empty());
    BOOST_TEST(stage.log.all<proto::EpochFinished>().size() == 1u);
    const auto fetched = stage.log.all<proto::Fetched>();
    BOOST_REQUIRE(fetched.size() == 2u);
    BOOST_TEST(fetched[0]->envelope().getWork() == 42u);
    BOOST_TEST(fetched[0]->body<proto::Fetched>().getUpdates().size() == 0u);
    BOOST_TEST((read_counts(fetched[1]->body<proto::Fetched>().getUpdates()) ==
                std::vector<std::uint64_t>{5, 6, 4}));
    const std::size_t sizes[] = {2, 3, 1, 2, 3, 1};
    for (std::size_t k = 0; k < 2; ++k) {
        BOOST_REQUIRE(fetched[k]->tensors().size() == 3 * (k + 1));
        for (std::size_t i = 0; i < fetched[k]->tensors().size(); ++i)
            BOOST_TEST(fetched[k]->tensors()[i].elements() == sizes[i]);
    }
}

BOOST_FIXTURE_TEST_CASE(called_back_it_drops_the_answer_and_asks_again_while_it_waits_for_others,
                        one_cache) {
    const tensor newer = floats({7, 8});
    offer(0);
    say(first, cache, call_back(1)); // not answered yet
    say(first, cache, pulled(1, {a}));
    say(first, cache, call_back(0)); // of another pull
    BOOST_TEST(first.log.all<proto::Pull>().size() == 1u);
    say(first, cache, call_back(1));
    BOOST_REQUIRE(first.log.all<proto::Pull>().size() == 2u);
    const frame_ptr again = first.log.all<proto::Pull>()[1];
    BOOST_TEST(again->body<proto::Pull>().getEpoch() == 3u);
    BOOST_TEST(again->body<proto::Pull>().getClock() == 1u);
    BOOST_TEST(again->envelope().getWork() == 42u);
    say(second, cache, pulled(1, {b, c}));
    BOOST_TEST(stage.log.all<proto::Fetched>().empty());
    say(first, cache, pulled(1, {newer}));
    const auto fetched = stage.log.all<proto::Fetched>();
    BOOST_REQUIRE(fetched.size() == 1u);
    BOOST_TEST(values_of(fetched[0]->tensors()[0]) == (std::vector<float>{7, 8}));
    say(first, cache, call_back(1)); // the stage computes
    BOOST_TEST(first.log.all<proto::Pull>().size() == 2u);
    BOOST_TEST(second.log.all<proto::Pull>().size() == 1u);
    BOOST_TEST(stage.log.downs.empty());
}

BOOST_FIXTURE_TEST_CASE(who_has_no_part_in_it_is_refused, one_cache) {
    say(stranger, cache, pulled(1, {a}));
    say(stranger, cache, offered(0));
    say(stranger, cache, frame_builder<proto::Refresh>{});
    say(stranger, cache, call_back(0));
    BOOST_TEST(stranger.log.rejected.size() == 4u);
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
    s.say(s.second, s.cache, shard_read({6, 4}, {s.b, s.c, s.c, s.b}));
    s.check_ended(not_its_tensors);
}

BOOST_AUTO_TEST_CASE(an_answer_without_a_count_for_each_parameter_ends_it) {
    for (const std::vector<std::uint64_t>& updates :
         std::vector<std::vector<std::uint64_t>>{{}, {6}, {6, 4, 4}}) {
        one_cache s;
        s.say(s.stage, s.cache, frame_builder<proto::Refresh>{});
        s.say(s.second, s.cache, shard_read(updates, {s.b, s.c, s.b, s.c}));
        s.check_ended("has not a count of updates for each of its parameters");
    }
}

// The second shard's are those of the last two parameters.
BOOST_AUTO_TEST_CASE(the_shard_of_the_node_gets_the_counts_of_its_parameters) {
    one_cache s{nullptr, 2};
    frame_builder<proto::JoinServer> without;
    without.body().initShards(2);
    s.say(s.stranger, s.cache, with(std::move(without), {s.a, s.b, s.c, s.a, s.b, s.c}));
    BOOST_TEST(s.stranger.log.rejected.size() == 1u);
    auto& other = s.add<proto::ServerJoined>("other");
    s.join(other, s.second.address);
    const auto kept = s.second.log.all<proto::KeepShard>();
    BOOST_REQUIRE(kept.size() == 1u);
    BOOST_TEST((read_counts(kept[0]->body<proto::KeepShard>().getUpdates()) ==
                std::vector<std::uint64_t>{8, 9}));
}

BOOST_FIXTURE_TEST_CASE(a_shard_that_refuses_ends_it, one_cache) {
    act(second, [](puppet& self) { self.refuse(); });
    offer(0);
    check_ended("a shard refused a message: no");
}

BOOST_FIXTURE_TEST_CASE(what_has_not_the_shapes_of_the_parameters_ends_it, one_cache) {
    say(stage, cache, with(frame_builder<proto::Offer>{}, {a, c, b}));
    check_ended("what a stage offers has not the shapes of its parameters");
    BOOST_TEST(first.log.got.empty());
}

// ---- compressed gradients -------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(payloads_are_pushed_and_what_they_lose_goes_with_the_next,
                        compressed_cache) {
    offer(0); // 1 2 | 3 4 5 | 6
    BOOST_TEST(pushed(first, 0, 0, {2}) == (std::vector<float>{0, 2}));
    BOOST_TEST(pushed(second, 0, 0, {3}) == (std::vector<float>{0, 4, 5}));
    BOOST_TEST(pushed(second, 0, 1, {1}) == (std::vector<float>{6}));
    BOOST_TEST(traced(proto::ENCODE_WORK->cStr(), 42) == 1u);
    say(first, cache, pulled(1, {a}));
    say(second, cache, pulled(1, {b, c}));
    offer(1); // with 1 0 | 3 0 0 | 0
    BOOST_TEST(pushed(first, 1, 0, {2}) == (std::vector<float>{2, 0}));
    BOOST_TEST(pushed(second, 1, 0, {3}) == (std::vector<float>{6, 0, 5}));
    BOOST_TEST(pushed(second, 1, 1, {1}) == (std::vector<float>{6}));
}

BOOST_AUTO_TEST_CASE(a_nodes_server_compresses_the_sum_and_keeps_what_that_loses) {
    compressed_cache s{2};
    auto& other = s.add<proto::ServerJoined, proto::Fetched>("other");
    s.join(other);
    for (std::size_t number = 0; number < 2; ++number) {
        s.offer(number);
        BOOST_TEST(s.first.log.all<proto::Push>().size() == number); // until both have offered
        s.say(other, s.cache, s.offered(number));
        // 2 4, and then with 2 0
        BOOST_TEST(s.pushed(s.first, number, 0, {2}) ==
                   (number == 0 ? std::vector<float>{0, 4} : std::vector<float>{4, 0}));
        // 6 8 10, and then with 6 0 0
        BOOST_TEST(s.pushed(s.second, number, 0, {3}) ==
                   (number == 0 ? std::vector<float>{0, 8, 10} : std::vector<float>{12, 0, 10}));
        s.say(s.first, s.cache, pulled(number + 1, {s.a}));
        s.say(s.second, s.cache, pulled(number + 1, {s.b, s.c}));
        BOOST_TEST(other.log.all<proto::Fetched>().size() == number + 1);
    }
    BOOST_TEST(s.traced(proto::NODE_SUM_WORK->cStr(), 42) == 2u);
}

// Nobody waits for them; the pull, and the end of the epoch, come after all.
BOOST_FIXTURE_TEST_CASE(pushes_that_are_not_answered_leave_before_what_is_asked_next,
                        compressed_cache) {
    act(stage, [this](puppet& self) {
        for (std::uint64_t clock = 0; clock < 3; ++clock) {
            auto offer = offered(clock);
            offer.body().setFetch(clock == 2);
            self.send(cache, std::move(offer));
        }
    });
    for (const part* shard : {&first, &second}) {
        BOOST_REQUIRE(shard->log.got.size() == 4u);
        for (std::uint64_t clock = 0; clock < 3; ++clock)
            BOOST_TEST(shard->log.all<proto::Push>()[clock]->body<proto::Push>().getClock() ==
                       clock);
        BOOST_TEST(shard->log.got.back()->body<proto::Pull>().getClock() == 3u);
    }
    say(first, cache, pulled(3, {a}));
    say(second, cache, pulled(3, {b, c}));
    act(stage, [this](puppet& self) {
        auto offer = offered(3);
        offer.body().setFetch(false);
        self.send(cache, std::move(offer));
        self.send(cache, frame_builder<proto::FinishEpoch>{});
    });
    for (const part* shard : {&first, &second}) {
        BOOST_REQUIRE(shard->log.got.size() == 6u);
        BOOST_TEST(shard->log.got[4]->body<proto::Push>().getClock() == 3u);
        BOOST_TEST((shard->log.got[5]->body_type() == type_id_of<proto::WorkerDone>()));
    }
}

BOOST_AUTO_TEST_SUITE_END()
