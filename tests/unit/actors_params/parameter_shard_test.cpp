// A shard between workers that keep to the protocol or do not.
#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include <cstring>

#include "actors/params/parameter_shard.hpp"
#include "kernels/codec/codecs.hpp"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

optimizer_ptr plain_sgd() {
    capnp::MallocMessageBuilder message;
    auto description = message.initRoot<proto::Optimizer>();
    description.initSgd().setLearningRate(1);
    return make_optimizer(description.asReader());
}

template <class Body>
frame_builder<Body> of_worker(std::uint32_t worker, std::uint32_t epoch) {
    frame_builder<Body> b;
    b.body().setWorker(worker);
    b.body().setEpoch(epoch);
    return b;
}

struct push_ids {
    std::uint32_t worker = 0, epoch = 0;
    std::uint64_t clock = 0, version = 0;
};

frame_builder<proto::Push> push(const push_ids& ids, const std::vector<tensor>& gradients) {
    auto b = of_worker<proto::Push>(ids.worker, ids.epoch);
    b.body().setClock(ids.clock);
    b.body().setMinibatch(42);
    b.body().setWeightVersion(ids.version);
    for (const tensor& t : gradients)
        b.attach(t);
    return b;
}

frame_builder<proto::Pull> pull(std::uint32_t worker, std::uint32_t epoch, std::uint64_t clock) {
    auto b = of_worker<proto::Pull>(worker, epoch);
    b.body().setClock(clock);
    b.envelope().setWork(42);
    return b;
}

constexpr consistency asynchronous{}, synchronous{.staleness = 0};

// For one parameter of two elements, with a rate of 1, before it has weights; both workers have a cache.
struct empty_shard : puppet_stage {
    part& one = add<proto::Pulled, proto::WorkerDoneTaken, proto::ShardRead>("one");
    part& two = add<proto::Pulled, proto::WorkerDoneTaken, proto::ShardRead>("two");
    part& stranger = add<>("stranger");
    part& trainer = add<proto::WorkerExpected>("trainer");
    actor_address shard;
    const tensor gradient = floats({1, 2});

    explicit empty_shard(consistency rule = asynchronous, codec_ptr codec = nullptr,
                         aggregation how = {}) {
        parameter_shard_options options;
        options.rules.rule = rule;
        options.rules.how = how;
        options.trainer = trainer.address;
        options.rules.forms = {codec};
        options.workers = 2;
        options.shapes = {{2}};
        options.rules.optimizer = plain_sgd();
        options.rates = [](std::uint64_t) { return 1.0f; };
        options.compute = shared_device();
        shard = node.spawn<parameter_shard>("shard", std::move(options));
        watch(one, shard);
    }
    void check_ended(const std::string& sentence) {
        BOOST_REQUIRE(one.log.downs.size() == 1u);
        BOOST_TEST(one.log.downs[0].find(sentence) != std::string::npos, one.log.downs[0]);
    }
};

// The same, with zeros.
struct one_shard : empty_shard {
    static constexpr std::uint64_t first_updates = 30; // the first version is 0

    explicit one_shard(consistency rule = asynchronous, codec_ptr codec = nullptr,
                       aggregation how = {}, unsigned counts = 1)
        : empty_shard{rule, std::move(codec), how} {
        frame_builder<proto::KeepShard> keep;
        auto updates = keep.body().initUpdates(counts);
        for (unsigned i = 0; i < counts; ++i)
            updates.set(i, first_updates);
        keep.attach(floats({0, 0}));
        say(one, shard, std::move(keep));
    }

    void finish(part& by, std::uint32_t worker, std::uint32_t epoch = 0) {
        say(by, shard, of_worker<proto::WorkerDone>(worker, epoch));
    }
    void finish_both() {
        finish(one, 0);
        finish(two, 1);
    }
    // Between two epochs: what the shard has, after so many updates.
    void check_keeps(std::uint64_t version, const std::vector<float>& values) {
        BOOST_TEST(one.log.downs.empty());
        say(one, shard, frame_builder<proto::ReadShard>{});
        const auto read = one.log.all<proto::ShardRead>();
        BOOST_REQUIRE(!read.empty());
        const auto body = read.back()->body<proto::ShardRead>();
        BOOST_TEST(body.getWeightVersion() == version);
        BOOST_REQUIRE(body.getUpdates().size() == 1u);
        BOOST_TEST(body.getUpdates()[0] == first_updates + version);
        BOOST_TEST(values_of(read.back()->tensors()[0]) == values,
                   boost::test_tools::per_element());
    }
};

// What it is pushed are payloads: of two elements the larger.
struct compressed_shard : one_shard {
    const codec_ptr how = make_top_codec(0.5f);

    explicit compressed_shard(consistency rule = asynchronous)
        : one_shard{rule, make_top_codec(0.5f)} {}

    tensor payload(const std::vector<float>& values) {
        compute_context context{*ops, memory};
        return how->encode(context, floats(values), {}, {}).value();
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(parameter_shards)

BOOST_FIXTURE_TEST_CASE(a_push_that_comes_again_is_applied_once, one_shard) {
    for (int times = 0; times < 3; ++times)
        say(one, shard, push({}, {gradient}));
    say(one, shard, pull(0, 0, 1));
    say(one, shard, push({.clock = 1, .version = 1}, {gradient}));
    say(one, shard, push({}, {gradient}));
    BOOST_REQUIRE(one.log.all<proto::Pulled>().size() == 1u);
    BOOST_TEST(one.log.got[0]->envelope().getWork() == 42u);
    finish_both();
    say(one, shard, push({.clock = 1, .version = 1}, {gradient}));
    check_keeps(2, {-2, -4});
    BOOST_TEST(traced(proto::APPLY_WORK->cStr(), 42) == 2u);
}

BOOST_AUTO_TEST_CASE(a_push_that_comes_again_in_a_round_counts_once) {
    one_shard s{synchronous};
    s.say(s.one, s.shard, push({}, {s.gradient}));
    s.say(s.one, s.shard, push({}, {s.gradient}));
    s.say(s.two, s.shard, push({.worker = 1}, {}));
    s.finish_both();
    s.check_keeps(1, {-1, -2});
}

BOOST_FIXTURE_TEST_CASE(who_has_no_part_in_it_is_refused, one_shard) {
    say(one, shard, push({}, {gradient}));
    say(two, shard, push({.worker = 0, .clock = 1}, {gradient})); // another's number
    say(two, shard, push({.worker = 2}, {gradient}));
    say(two, shard, push({.worker = 1, .epoch = 1}, {gradient})); // while the first runs
    say(two, shard, frame_builder<proto::ReadShard>{});
    frame_builder<proto::KeepShard> keep;
    keep.attach(floats({7, 7}));
    say(two, shard, std::move(keep));
    BOOST_TEST(two.log.rejected.size() == 5u);
    finish_both();
    say(stranger, shard, frame_builder<proto::ReadShard>{});
    BOOST_TEST(stranger.log.rejected.size() == 1u);
    check_keeps(1, {-1, -2});
}

BOOST_AUTO_TEST_CASE(weights_to_keep_without_a_count_for_each_parameter_end_it) {
    for (const unsigned counts : {0u, 2u}) {
        one_shard s{asynchronous, nullptr, {}, counts};
        s.check_ended("the weights to keep do not fit the shard");
    }
}

BOOST_FIXTURE_TEST_CASE(an_epoch_that_is_over_does_not_begin_again, one_shard) {
    finish_both();
    finish(one, 0, 1);
    finish(two, 1, 1);
    say(one, shard, push({}, {gradient})); // of epoch 0
    BOOST_TEST(one.log.rejected.size() == 1u);
    check_keeps(0, {0, 0});
}

// Of what arrives before, backup workers would have some dropped that nobody is told of.
BOOST_AUTO_TEST_CASE(a_push_before_there_are_weights_ends_it) {
    empty_shard s{{.backups = 1}};
    s.say(s.one, s.shard, push({}, {s.gradient}));
    s.check_ended("push 0 of worker 0: comes before this shard has weights");
}

BOOST_AUTO_TEST_CASE(a_push_that_does_not_fit_ends_it) {
    struct bad {
        push_ids ids;
        std::vector<float> values; // none: no tensor
        const char* sentence;
    };
    const bad all[] = {
        {{.clock = 1}, {1, 2}, "push 1 of worker 0: comes out of turn"},
        {{.version = 1}, {1, 2}, "push 0 of worker 0: is of a version that this shard has not"},
        {{}, {1, 2, 3}, "has not the gradients of the shard's parameters"},
        {{}, {}, "has not the gradients of the shard's parameters"},
    };
    for (const bad& b : all) {
        one_shard s;
        std::vector<tensor> gradients;
        if (!b.values.empty())
            gradients.push_back(s.floats(b.values));
        s.say(s.one, s.shard, push(b.ids, gradients));
        s.check_ended(b.sentence);
    }
    one_shard s;
    s.say(s.one, s.shard, push({}, {s.integers(2)}));
    s.check_ended("has not the gradients of the shard's parameters");
}

BOOST_FIXTURE_TEST_CASE(a_push_of_who_has_ended_its_epoch_ends_it, one_shard) {
    finish(one, 0);
    say(one, shard, push({}, {gradient}));
    check_ended("push 0 of worker 0: comes out of turn");
}

BOOST_FIXTURE_TEST_CASE(a_pull_before_its_push_ends_it, one_shard) {
    say(one, shard, pull(0, 0, 1));
    check_ended("a pull of worker 0 comes out of turn");
}

BOOST_FIXTURE_TEST_CASE(a_pull_of_who_has_ended_its_epoch_ends_it, one_shard) {
    finish(one, 0);
    say(one, shard, pull(0, 0, 0));
    check_ended("a pull of worker 0 comes out of turn");
}

BOOST_AUTO_TEST_CASE(who_asks_again_before_it_is_answered_ends_it) {
    one_shard s{synchronous};
    s.say(s.one, s.shard, push({}, {s.gradient}));
    s.say(s.one, s.shard, pull(0, 0, 1));
    s.say(s.one, s.shard, pull(0, 0, 1));
    s.check_ended("a pull of worker 0 comes out of turn");
}

BOOST_AUTO_TEST_CASE(a_worker_that_ends_its_epoch_unanswered_ends_it) {
    one_shard s{synchronous};
    s.say(s.one, s.shard, push({}, {s.gradient}));
    s.say(s.one, s.shard, pull(0, 0, 1));
    s.finish(s.one, 0);
    s.check_ended("a worker ends its epoch before its last pull is answered");
}

BOOST_AUTO_TEST_CASE(a_round_without_gradients_ends_it) {
    one_shard s{synchronous};
    s.say(s.one, s.shard, push({}, {}));
    s.say(s.two, s.shard, push({.worker = 1}, {}));
    s.check_ended("no worker pushes gradients in a round");
}

BOOST_AUTO_TEST_CASE(a_loss_that_leaves_too_few_workers_for_an_update_ends_it) {
    for (const auto by : {aggregation::rule::mean, aggregation::rule::median}) {
        one_shard s{synchronous, nullptr, {.by = by}};
        frame_builder<proto::WorkerLost> lost;
        lost.body().setWorker(1);
        s.say(s.trainer, s.shard, std::move(lost));
        if (by == aggregation::rule::median) {
            s.check_ended("an update takes the gradients of");
            continue;
        }
        s.say(s.one, s.shard, push({}, {s.gradient}));
        s.finish(s.one, 0);
        s.check_keeps(1, {-1, -2});
    }
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_refuses_its_answer_ends_it, one_shard) {
    say(two, shard, push({.worker = 1}, {gradient}));
    act(two, [](puppet& self) { self.refuse(); });
    say(two, shard, pull(1, 0, 1));
    check_ended("a worker refused a message: no");
}

// ---- compressed gradients -------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(what_payloads_decode_to_is_applied_once, compressed_shard) {
    for (int times = 0; times < 3; ++times)
        say(one, shard, push({}, {payload({1, 2})}));
    say(two, shard, push({.worker = 1}, {payload({-8, 4})}));
    finish_both();
    check_keeps(2, {8, -2});
}

BOOST_AUTO_TEST_CASE(numbers_of_payloads_may_be_sevenths_of_the_largest) {
    const codec_ptr sevenths = make_top_codec(1, proto::SparseValues::INT4);
    for (const bool damaged : {false, true}) {
        one_shard s{asynchronous, sevenths};
        compute_context context{*s.ops, s.memory};
        tensor payload = sevenths->encode(context, s.floats({7, -3.4f}), {}, {}).value();
        if (damaged)
            payload.mutable_data()[payload.bytes() - 1] = std::byte{0x0f}; // 15 of 0 .. 14
        s.say(s.one, s.shard, push({}, {payload}));
        if (damaged) {
            s.check_ended("what worker 0 pushed: ");
            s.check_ended("a quantized tensor has a level that is none");
            continue;
        }
        s.finish_both();
        s.check_keeps(1, {-7, 3});
    }
}

BOOST_AUTO_TEST_CASE(who_has_no_minibatch_in_a_round_pushes_no_payload) {
    compressed_shard s{synchronous};
    s.say(s.one, s.shard, push({}, {s.payload({1, 2})}));
    s.say(s.two, s.shard, push({.worker = 1}, {}));
    s.finish_both();
    s.check_keeps(1, {0, -2});
}

BOOST_AUTO_TEST_CASE(a_payload_that_is_none_of_the_shards_parameters_ends_it) {
    const std::function<std::vector<tensor>(compressed_shard&)> all[] = {
        [](compressed_shard& s) { return std::vector{s.gradient}; },
        [](compressed_shard& s) { return std::vector{s.integers(2)}; },
        [](compressed_shard& s) {
            return std::vector{tensor::allocate(s.memory, data_type::uint8, {16}).value()};
        }};
    for (const auto& bad : all) {
        compressed_shard s;
        s.say(s.one, s.shard, push({}, bad(s)));
        s.check_ended("push 0 of worker 0: a payload of ");
        s.check_ended(" is none of a tensor of [2]");
    }
    for (const bool none : {false, true}) {
        compressed_shard s;
        const std::vector<tensor> twice{s.payload({1, 2}), s.payload({1, 2})};
        s.say(s.one, s.shard, push({}, none ? std::vector<tensor>{} : twice));
        s.check_ended("has not the gradients of the shard's parameters");
    }
}

BOOST_FIXTURE_TEST_CASE(a_payload_that_no_encoder_makes_ends_it_by_the_workers_name,
                        compressed_shard) {
    tensor damaged = payload({1, 2});
    std::memset(damaged.mutable_data(), 0xff, 4);
    say(two, shard, push({.worker = 1}, {damaged}));
    check_ended("updating a shard: what worker 1 pushed: ");
    check_ended("index that is too large or not in order");
}

BOOST_AUTO_TEST_SUITE_END()
