// A rank of a compressed all-reduce between its stage and peers that keep to the protocol or do not.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>

#include "actors/collective/compressed_sum.hpp"
#include "actors/collective/gatherer.hpp"
#include "kernels/codec/codecs.hpp"
#include "kernels/codec/sufficient_factors.hpp"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::size_t outs = 4, ins = 25;

// The second of three ranks, with two weights; the stage is a puppet, as are the peers.
struct one_gatherer : puppet_stage {
    part& stage = add<proto::Reduced>("stage");
    part& first = add<proto::ReduceChunk>("first");
    part& third = add<proto::ReduceChunk>("third");
    part& stranger = add<>("stranger");
    const codec_ptr how = make_top_codec(0.1f);
    actor_address rank;

    explicit one_gatherer(std::size_t averages = 0, payload_forms forms = {}) {
        compressed_options options;
        options.codec = how;
        options.compute = shared_device();
        options.shapes.assign(averages, tensor_shape{2});
        options.shapes.insert(options.shapes.end(), 2, tensor_shape{outs, ins});
        options.averages = averages;
        if (forms.empty()) {
            forms.resize(averages);
            forms.resize(options.shapes.size(), how);
        }
        options.forms = std::move(forms);
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

    // Of a gradient that has this number in one place.
    tensor payload(float value) {
        tensor t = tensor::allocate(memory, data_type::float32, {outs, ins}).value();
        std::ranges::fill(t.mutable_values<float>(), 0.f);
        t.mutable_values<float>()[17] = value;
        compute_context context{*ops, memory};
        return how->encode(context, t, {}, {}).value();
    }
    template <class Body>
    frame_builder<Body> of(std::uint64_t reduction, const std::vector<tensor>& tensors) {
        frame_builder<Body> b;
        b.body().setReduction(reduction);
        for (const tensor& t : tensors)
            b.attach(t);
        return b;
    }
    void submit(std::uint64_t id, const std::vector<tensor>& tensors, std::uint32_t from = 0) {
        auto b = of<proto::Reduce>(id, tensors);
        b.body().setFirst(from);
        say(stage, rank, std::move(b));
    }
    void chunk(part& by, std::uint64_t id, const std::vector<tensor>& tensors,
               std::uint32_t slice = 0, std::uint32_t round = 0) {
        auto b = of<proto::ReduceChunk>(id, tensors);
        b.body().setSlice(slice);
        b.body().setRound(round);
        say(by, rank, std::move(b));
    }
    float sum_of(std::size_t reduction, std::size_t tensor, std::size_t element = 17) {
        return stage.log.got[reduction]->tensors()[tensor].values<float>()[element];
    }
    void check_ended(const std::string& why) {
        BOOST_REQUIRE(stage.log.downs.size() == 1u);
        BOOST_TEST(stage.log.downs[0].find(why) != std::string::npos, stage.log.downs[0]);
    }
};

struct with_averages : one_gatherer {
    with_averages() : one_gatherer{1} {}
};

struct with_factors : one_gatherer {
    static constexpr std::size_t rows_max = 2;
    with_factors()
        : one_gatherer{0,
                       {std::make_shared<sufficient_factors>(rows_max),
                        std::make_shared<sufficient_factors>(rows_max)}} {}

    // Of which each row's product is left times right in every place.
    tensor factors(std::size_t rows, float left, float right) {
        tensor t = tensor::allocate(memory, data_type::float32, {rows, outs + ins}).value();
        for (std::size_t i = 0; i < t.elements(); ++i)
            t.mutable_values<float>()[i] = i % (outs + ins) < outs ? left : right;
        return t;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(gatherers)

BOOST_FIXTURE_TEST_CASE(payloads_go_to_all_others_and_are_summed_with_what_comes, one_gatherer) {
    chunk(third, 0, {payload(4), payload(5)}); // before the stage has anything
    submit(0, {payload(2), payload(3)});
    for (const part* peer : {&first, &third}) {
        BOOST_REQUIRE(peer->log.got.size() == 1u);
        const auto sent = peer->log.got[0]->tensors();
        BOOST_REQUIRE(sent.size() == 2u);
        BOOST_TEST(sent[1].bytes() == 8u * 10); // an index and a value of a tenth
        BOOST_TEST(sent[1].bytes() == how->payload_bytes({outs, ins}));
    }
    BOOST_TEST(stage.log.got.empty());
    chunk(first, 0, {payload(1), payload(-1)});
    BOOST_REQUIRE(stage.log.got.size() == 1u);
    BOOST_TEST(sum_of(0, 0) == 7.f);
    BOOST_TEST(sum_of(0, 1) == 7.f);
    BOOST_TEST(sum_of(0, 0, 16) == 0.f);
}

BOOST_FIXTURE_TEST_CASE(what_is_ready_first_goes_first, one_gatherer) {
    submit(0, {payload(3)}, 1);
    BOOST_REQUIRE(first.log.got.size() == 1u); // while the stage has yet to give the rest
    BOOST_TEST(first.log.got[0]->body<proto::ReduceChunk>().getSlice() == 1u);
    chunk(first, 0, {payload(10)}, 1);
    chunk(third, 0, {payload(20), payload(100)}); // of another bucket size
    chunk(first, 0, {payload(200)});
    BOOST_TEST(stage.log.got.empty());
    submit(0, {payload(400)});
    BOOST_REQUIRE(stage.log.got.size() == 1u);
    BOOST_TEST(sum_of(0, 0) == 620.f);
    BOOST_TEST(sum_of(0, 1) == 113.f);
}

// The sums themselves: tests/sim/codecs_sim_test.cpp, with batch_norm.
BOOST_FIXTURE_TEST_CASE(a_slice_of_what_is_not_compressed_that_does_not_fit_ends_it,
                        with_averages) {
    chunk(first, 0, {floats({1})}, 0, 77);
    check_ended("reduction 0: comes from a rank that sends nothing then, or twice");
}

BOOST_FIXTURE_TEST_CASE(factors_are_sent_and_their_products_summed, with_factors) {
    submit(0, {factors(2, 1, 3), factors(2, 1, 1)});
    BOOST_REQUIRE(third.log.got.size() == 1u);
    for (const tensor& t : third.log.got[0]->tensors())
        BOOST_TEST(t.bytes() == 4u * 2 * (outs + ins));
    chunk(first, 0, {factors(1, 2, 5), factors(2, 1, 0)}); // of a short minibatch
    chunk(third, 0, {});
    BOOST_REQUIRE(stage.log.got.size() == 1u);
    BOOST_TEST(sum_of(0, 0) == 2 * 3.f + 10);
    BOOST_TEST(sum_of(0, 1) == 2.f);
    BOOST_TEST((stage.log.got[0]->tensors()[1].shape() == tensor_shape{outs, ins}));
}
BOOST_FIXTURE_TEST_CASE(factors_of_more_samples_than_a_minibatch_has_end_it, with_factors) {
    chunk(first, 0, {factors(1, 1, 1), factors(3, 1, 1)});
    check_ended("a payload of float32 [3, 29] is none of a tensor of [4, 25]");
}

BOOST_FIXTURE_TEST_CASE(a_rank_with_nothing_adds_nothing, one_gatherer) {
    chunk(first, 0, {});
    submit(0, {});
    chunk(first, 1, {}); // one ahead
    chunk(third, 0, {payload(4), payload(5)});
    BOOST_REQUIRE(stage.log.got.size() == 1u);
    BOOST_TEST(sum_of(0, 0) == 4.f);
    BOOST_TEST(first.log.got[0]->tensors().empty());
    submit(1, {});
    chunk(third, 1, {});
    BOOST_REQUIRE(stage.log.got.size() == 2u);
    BOOST_TEST(sum_of(1, 1) == 0.f);
}

BOOST_FIXTURE_TEST_CASE(a_payload_of_another_size_ends_it, one_gatherer) {
    chunk(first, 0, {payload(1), floats({1, 2})});
    check_ended("a payload of float32 [2] is none of a tensor of [4, 25]");
}
BOOST_FIXTURE_TEST_CASE(a_payload_that_no_encoder_makes_ends_it, one_gatherer) {
    tensor damaged = payload(1);
    std::memset(damaged.mutable_data(), 0xff, 4);
    submit(0, {payload(2), payload(2)});
    chunk(first, 0, {payload(2), damaged});
    chunk(third, 0, {});
    check_ended("index that is too large or not in order");
}
BOOST_FIXTURE_TEST_CASE(a_rank_that_sends_nothing_twice_ends_it, one_gatherer) {
    chunk(first, 0, {payload(1), payload(1)});
    chunk(first, 0, {});
    check_ended("or twice");
}
BOOST_FIXTURE_TEST_CASE(a_rank_that_sends_a_payload_twice_ends_it, one_gatherer) {
    chunk(first, 0, {payload(1)}, 1);
    chunk(first, 0, {payload(1)}, 1);
    check_ended("or twice");
}
BOOST_FIXTURE_TEST_CASE(a_payload_out_of_turn_ends_it, one_gatherer) {
    chunk(first, 0, {payload(1)}, 0); // the last one is due
    check_ended("sends nothing then");
}
BOOST_FIXTURE_TEST_CASE(a_payload_beyond_the_last_ends_it, one_gatherer) {
    chunk(first, 0, {payload(1)}, ~0u);
    check_ended("sends nothing then");
}
BOOST_FIXTURE_TEST_CASE(a_round_that_there_is_not_ends_it, one_gatherer) {
    chunk(first, 0, {payload(1), payload(1)}, 0, 1);
    check_ended("sends nothing then");
}
BOOST_FIXTURE_TEST_CASE(who_is_further_ahead_than_can_be_ends_it, one_gatherer) {
    chunk(first, 2, {});
    check_ended("arrives where 0 is due");
}
BOOST_FIXTURE_TEST_CASE(strangers_are_refused, one_gatherer) {
    chunk(stranger, 0, {});
    submit(0, {payload(2), payload(2)});
    BOOST_TEST(stranger.log.rejected.size() == 1u);
    BOOST_TEST(stage.log.downs.empty());
}
BOOST_FIXTURE_TEST_CASE(what_a_stage_gives_that_does_not_fit_ends_it, one_gatherer) {
    submit(0, {payload(1), floats({1, 2})});
    check_ended("what is to be summed: a payload of float32 [2]");
}
BOOST_FIXTURE_TEST_CASE(what_a_stage_gives_out_of_turn_ends_it, one_gatherer) {
    submit(0, {payload(1)}, 0);
    check_ended("comes from the last tensor to the first");
}

BOOST_AUTO_TEST_SUITE_END()
