// A rank of a compressed all-reduce between its stage and peers that keep to the protocol or do not.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>

#include "actors/collective/gatherer.hpp"
#include "kernels/codec/codecs.hpp"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::size_t outs = 4, ins = 25;

// The second of three ranks, with a running average and a weight; the stage is a puppet, as are the peers.
struct one_gatherer : puppet_stage {
    part& stage = add<proto::Reduced>("stage");
    part& first = add<proto::ReduceChunk>("first");
    part& third = add<proto::ReduceChunk>("third");
    part& stranger = add<>("stranger");
    const codec_ptr how = make_top_codec(0.1f);
    actor_address rank;

    one_gatherer() {
        compressed_options options;
        options.codec = how;
        options.compute = shared_device();
        options.shapes = {tensor_shape{2}, tensor_shape{outs, ins}};
        options.averages = 1;
        rank = node.spawn<gatherer>("reducer", std::move(options));
        watch(stage, rank);
        frame_builder<proto::JoinReduction> join;
        join.body().setRank(1);
        auto members = join.body().initMembers(3);
        write_address(members[0], first.address);
        write_address(members[1], rank);
        write_address(members[2], third.address);
        say(stage, rank, std::move(join));
    }

    tensor gradient(float value) {
        tensor t = tensor::allocate(memory, data_type::float32, {outs, ins}).value();
        std::ranges::fill(t.mutable_values<float>(), 0.f);
        t.mutable_values<float>()[17] = value;
        return t;
    }
    tensor payload(float value) {
        compute_context context{*ops, memory};
        return how->encode(context, gradient(value), {}, {}).value();
    }
    template <class Body>
    frame_builder<Body> of(std::uint64_t reduction, const std::vector<tensor>& tensors) {
        frame_builder<Body> b;
        b.body().setReduction(reduction);
        for (const tensor& t : tensors)
            b.attach(t);
        return b;
    }
    void give(std::uint64_t id, const std::vector<tensor>& tensors) {
        say(stage, rank, of<proto::Reduce>(id, tensors));
    }
    void chunk(part& by, std::uint64_t id, const std::vector<tensor>& tensors) {
        say(by, rank, of<proto::ReduceChunk>(id, tensors));
    }
    void check_ended(const std::string& why) {
        BOOST_REQUIRE(stage.log.downs.size() == 1u);
        BOOST_TEST(stage.log.downs[0].find(why) != std::string::npos, stage.log.downs[0]);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(gatherers)

BOOST_FIXTURE_TEST_CASE(payloads_go_to_all_others_and_are_summed_with_what_comes, one_gatherer) {
    chunk(third, 0, {floats({0.5f, 1}), payload(4)}); // before the stage has anything
    give(0, {floats({1, 1}), gradient(2)});
    for (const part* peer : {&first, &third}) {
        BOOST_REQUIRE(peer->log.got.size() == 1u);
        const auto sent = peer->log.got[0]->tensors();
        BOOST_REQUIRE(sent.size() == 2u);
        BOOST_TEST(sent[0].bytes() == 8u);
        BOOST_TEST(sent[1].bytes() == 8u * 10); // an index and a value of a tenth
        BOOST_TEST(sent[1].bytes() == how->payload_bytes({outs, ins}));
    }
    BOOST_TEST(stage.log.got.empty());
    chunk(first, 0, {floats({1, 2}), payload(1)});
    BOOST_REQUIRE(stage.log.got.size() == 1u);
    const auto sums = stage.log.got[0]->tensors();
    BOOST_TEST(sums[1].values<float>()[17] == 7.f);
    BOOST_TEST(sums[1].values<float>()[16] == 0.f);
    BOOST_TEST(sums[0].values<float>()[0] == 2.5f);
    BOOST_TEST(sums[0].values<float>()[1] == 4.f);
}

BOOST_FIXTURE_TEST_CASE(a_rank_with_nothing_adds_nothing, one_gatherer) {
    chunk(first, 0, {});
    give(0, {});
    chunk(first, 1, {}); // one ahead
    chunk(third, 0, {floats({0.5f, 1}), payload(4)});
    BOOST_REQUIRE(stage.log.got.size() == 1u);
    BOOST_TEST(stage.log.got[0]->tensors()[1].values<float>()[17] == 4.f);
    BOOST_TEST(first.log.got[0]->tensors().empty());
}

BOOST_FIXTURE_TEST_CASE(a_payload_of_another_size_ends_it, one_gatherer) {
    chunk(first, 0, {floats({1, 2}), floats({1, 2})});
    check_ended("a payload of float32 [2] is none of a gradient of [4, 25]");
}
BOOST_FIXTURE_TEST_CASE(a_payload_that_no_encoder_makes_ends_it, one_gatherer) {
    tensor damaged = payload(1);
    std::memset(damaged.mutable_data(), 0xff, 4);
    give(0, {floats({1, 1}), gradient(2)});
    chunk(first, 0, {floats({1, 2}), damaged});
    chunk(third, 0, {});
    check_ended("index that is too large or not in order");
}
BOOST_FIXTURE_TEST_CASE(a_rank_that_sends_twice_ends_it, one_gatherer) {
    chunk(first, 0, {});
    chunk(first, 0, {});
    check_ended("or twice");
}
BOOST_FIXTURE_TEST_CASE(who_is_further_ahead_than_can_be_ends_it, one_gatherer) {
    chunk(first, 2, {});
    check_ended("arrives where 0 is due");
}
BOOST_FIXTURE_TEST_CASE(averages_that_do_not_fit_end_it, one_gatherer) {
    chunk(first, 0, {floats({1}), payload(1)});
    check_ended("has not the stage's running averages");
}
BOOST_FIXTURE_TEST_CASE(strangers_are_refused, one_gatherer) {
    chunk(stranger, 0, {});
    give(0, {floats({1, 1}), gradient(2)});
    BOOST_TEST(stranger.log.rejected.size() == 1u);
    BOOST_TEST(stage.log.downs.empty());
}
BOOST_FIXTURE_TEST_CASE(gradients_that_do_not_fit_end_it, one_gatherer) {
    give(0, {gradient(2)});
    check_ended("has not the shapes of the stage's weights");
}

BOOST_AUTO_TEST_SUITE_END()
