// Weights that are pulled in fewer bits: encoded once for a version, decoded once for all stages of a cache, and kept exact.
#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include <cstring>
#include <limits>

#include "actors/params/parameter_cache.hpp"
#include "actors/params/parameter_shard.hpp"
#include "schemas/collective.capnp.h"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr float small = 0x1p-9f; // added to 1 what bfloat16 has no room for

number_form_ptr form_of(proto::NumberForm form) {
    return make_number_form(form).value();
}

// A shard of one parameter of two elements with a rate of 1, and two workers.
struct rounding_shard : puppet_stage {
    part& one = add<proto::Pulled, proto::ShardRead, proto::WorkerDoneTaken>("one");
    part& two = add<proto::Pulled, proto::WorkerDoneTaken>("two");
    actor_address shard;

    explicit rounding_shard(const delay_compensation& compensation = {}) {
        capnp::MallocMessageBuilder message;
        auto description = message.initRoot<proto::Optimizer>();
        description.initSgd().setLearningRate(1);
        parameter_shard_options options;
        options.rules.optimizer = make_optimizer(description.asReader());
        options.rules.pulls = form_of(proto::NumberForm::BF16);
        options.rules.compensation = compensation;
        options.workers = 2;
        options.shapes = {{2}};
        options.rates = [](std::uint64_t) { return 1.0f; };
        options.compute = shared_device();
        shard = node.spawn<parameter_shard>("shard", std::move(options));
        watch(one, shard);
        // The pull comes before the first weights are encoded.
        act(one, [this](puppet& self) {
            frame_builder<proto::KeepShard> keep;
            keep.body().initUpdates(1);
            keep.attach(floats({1 + small, 3}));
            self.send(shard, std::move(keep));
            self.send(shard, frame_builder<proto::Pull>{});
        });
    }

    void pull(part& by, std::uint32_t worker, std::uint64_t clock) {
        frame_builder<proto::Pull> pull;
        pull.body().setWorker(worker);
        pull.body().setClock(clock);
        say(by, shard, std::move(pull));
    }
    void push(part& by, std::uint32_t worker, std::uint64_t version,
              const std::vector<float>& gradient, std::uint64_t clock = 0) {
        frame_builder<proto::Push> push;
        push.body().setWorker(worker);
        push.body().setClock(clock);
        push.body().setMinibatch(42);
        push.body().setWeightVersion(version);
        push.attach(floats(gradient));
        say(by, shard, std::move(push));
    }
    std::vector<float> kept() {
        for (const std::uint32_t worker : {0u, 1u}) {
            frame_builder<proto::WorkerDone> done;
            done.body().setWorker(worker);
            say(worker == 0 ? one : two, shard, std::move(done));
        }
        say(one, shard, frame_builder<proto::ReadShard>{});
        const auto read = one.log.all<proto::ShardRead>();
        BOOST_REQUIRE(read.size() == 1u);
        BOOST_TEST((read[0]->tensors()[0].type() == data_type::float32));
        return values_of(read[0]->tensors()[0]);
    }
    std::vector<float> pulled(const part& by, std::size_t number) {
        const auto all = by.log.all<proto::Pulled>();
        BOOST_REQUIRE(number < all.size());
        compute_context context{*ops, memory};
        const tensor payload = all[number]->tensors()[0];
        BOOST_TEST(payload.bytes() == 4u);
        return values_of(decoded(context, *form_of(proto::NumberForm::BF16), {2}, payload).value());
    }
};

// A cache of two stages and one shard, which is a puppet: one parameter of ten elements.
struct rounding_cache : puppet_stage {
    part& stage = add<proto::ServerJoined, proto::Fetched>("stage");
    part& other = add<proto::ServerJoined, proto::Fetched>("other");
    part& shard = add<proto::Push, proto::Pull, proto::ReadShard>("shard");
    const number_form_ptr form;
    const tensor weights = floats({1 + small, -2, 3, 4, 5, 6, 7, 8, 9, 10});
    actor_address cache;

    explicit rounding_cache(proto::NumberForm how) : form{form_of(how)} {
        parameter_cache_options options;
        options.ranges = {{0, 1}};
        options.shapes = {{10}};
        options.members = 2;
        options.pulls = form;
        options.compute = shared_device();
        cache = node.spawn<parameter_cache>("cache", std::move(options));
        watch(stage, cache);
        for (part* by : {&stage, &other}) {
            frame_builder<proto::JoinServer> join;
            write_address(join.body().initShards(1)[0], shard.address);
            join.body().initUpdates(1);
            join.attach(weights);
            say(*by, cache, std::move(join));
        }
    }
    template <class Body>
    void both_ask() {
        say(stage, cache, frame_builder<Body>{});
        say(other, cache, frame_builder<Body>{});
    }
    template <class Body>
    void answer(const tensor& t) {
        frame_builder<Body> answer;
        if constexpr (std::is_same_v<Body, proto::ShardRead>)
            answer.body().initUpdates(1);
        answer.attach(t);
        say(shard, cache, std::move(answer));
    }
    tensor payload() {
        compute_context context{*ops, memory};
        return form->encode(context, weights).value();
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(rounded_pulls)

BOOST_FIXTURE_TEST_CASE(of_one_version_all_workers_get_the_same_bytes, rounding_shard) {
    pull(two, 1, 0);
    const auto a = one.log.all<proto::Pulled>(), b = two.log.all<proto::Pulled>();
    BOOST_REQUIRE(a.size() == 1u);
    BOOST_REQUIRE(b.size() == 1u);
    BOOST_TEST(a[0]->tensors()[0].data() == b[0]->tensors()[0].data());
    BOOST_TEST(pulled(one, 0) == (std::vector<float>{1, 3}));
    push(one, 0, 0, {-1, 1});
    BOOST_TEST(traced(proto::APPLY_WORK->cStr(), 42) == 1u);
    pull(one, 0, 1);
    BOOST_TEST(pulled(one, 1) == (std::vector<float>{2, 2}));
    BOOST_TEST(pulled(one, 0) == (std::vector<float>{1, 3})); // of the old version, as it was
}

// Updates too small for the form add up on the server.
BOOST_FIXTURE_TEST_CASE(the_shard_keeps_what_is_lost_on_the_way, rounding_shard) {
    for (std::uint64_t clock = 0; clock < 3; ++clock) {
        push(one, 0, clock, {-small, 0}, clock);
        pull(one, 0, clock + 1);
    }
    BOOST_TEST(pulled(one, 1) == (std::vector<float>{1, 3}));             // 1 + 2 small
    BOOST_TEST(pulled(one, 3) == (std::vector<float>{1 + 4 * small, 3})); // 1 + 4 small
    BOOST_TEST(kept() == (std::vector<float>{1 + 4 * small, 3}));
    BOOST_TEST(one.log.downs.empty());
}

// Its gradient is of the weights that it got.
BOOST_AUTO_TEST_CASE(delays_are_compensated_by_the_weights_that_were_sent) {
    rounding_shard s{{.compensates = true, .factor = 1, .decay = {}}};
    s.pull(s.two, 1, 0);
    s.push(s.one, 0, 0, {-1, 0}); // 2 + small
    s.push(s.two, 1, 0, {1, 0});  // 1 + 1 * 1 * (2 + small - 1)
    BOOST_TEST(s.kept() == (std::vector<float>{0, 3}));
}

BOOST_AUTO_TEST_CASE(a_cache_decodes_once_for_all_its_stages_and_reads_what_is_exact) {
    rounding_cache s{proto::NumberForm::BF16};
    s.both_ask<proto::EnterEpoch>();
    s.answer<proto::Pulled>(s.payload());
    const auto a = s.stage.log.all<proto::Fetched>(), b = s.other.log.all<proto::Fetched>();
    BOOST_REQUIRE(a.size() == 1u);
    BOOST_REQUIRE(b.size() == 1u);
    BOOST_TEST(values_of(a[0]->tensors()[0])[0] == 1.0f);
    BOOST_TEST(a[0]->tensors()[0].data() == b[0]->tensors()[0].data());
    BOOST_TEST(s.traced(proto::DECODE_WORK->cStr(), none) == 1u);
    s.both_ask<proto::Refresh>();
    s.answer<proto::ShardRead>(s.weights);
    BOOST_REQUIRE(s.stage.log.all<proto::Fetched>().size() == 2u);
    BOOST_TEST(s.stage.log.all<proto::Fetched>()[1]->tensors()[0].data() == s.weights.data());
    BOOST_TEST(s.stage.log.downs.empty());
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_no_payload_of_the_parameters_ends_a_cache) {
    const auto check = [](proto::NumberForm how, const std::string& sentence, auto spoil) {
        rounding_cache s{how};
        s.both_ask<proto::EnterEpoch>();
        tensor payload = s.payload();
        spoil(s, payload);
        s.answer<proto::Pulled>(payload);
        BOOST_REQUIRE(s.stage.log.downs.size() == 1u);
        BOOST_TEST(s.stage.log.downs[0].find(sentence) != std::string::npos, s.stage.log.downs[0]);
        BOOST_TEST(s.stage.log.all<proto::Fetched>().empty());
    };
    for (const auto how : {proto::NumberForm::BF16, proto::NumberForm::INT8}) {
        check(how, "an answer of shard 0: a payload of uint8 [3] is none of a tensor of [10]",
              [](rounding_cache& s, tensor& t) {
                  t = tensor::allocate(s.memory, data_type::uint8, {3}).value();
              });
        check(how, "an answer of shard 0: a payload of float32 [10] is none of a tensor of [10]",
              [](rounding_cache& s, tensor& t) { t = s.weights; });
    }
    check(proto::NumberForm::INT8,
          "an answer of shard 0: numbers of a tensor of [10] are not finite, or too large for int8",
          [](rounding_cache&, tensor& t) {
              const float scale = std::numeric_limits<float>::quiet_NaN();
              std::memcpy(t.mutable_data(), &scale, sizeof scale);
          });
    check(proto::NumberForm::INT8,
          "what shards answer to a pull: a quantized tensor has a level that is none",
          [](rounding_cache&, tensor& t) { t.mutable_data()[7] = std::byte{255}; });
}

BOOST_AUTO_TEST_SUITE_END()
