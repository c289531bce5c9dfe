// A rank of a sparse all-reduce between its stage and a peer that keeps to the protocol or does not.
#include <boost/test/unit_test.hpp>

#include <cstring>

#include "actors/collective/sparse_reducer.hpp"
#include "kernels/codec/codecs.hpp"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::size_t outs = 4, ins = 25;

// The second of two ranks, with a running average and a weight; the stage is a puppet, as is the other rank.
struct one_rank : puppet_stage {
    part& stage = add<proto::Reduced>("stage");
    part& peer = add<proto::ReduceChunk>("peer");
    part& stranger = add<>("stranger");
    actor_address rank;

    one_rank() {
        compressed_options options;
        options.codec = with_error_feedback(make_top_codec(0.02f));
        options.compute = shared_device();
        options.shapes = {tensor_shape{2}, tensor_shape{outs, ins}};
        options.averages = 1;
        options.forms = {nullptr, options.codec};
        rank = node.spawn<sparse_reducer>("reducer", std::move(options),
                                          sparse_algorithm::recursive_doubling);
        watch(stage, rank);
        frame_builder<proto::JoinReduction> join;
        join.body().setRank(1);
        auto members = join.body().initMembers(2);
        write_address(members[0], peer.address);
        write_address(members[1], rank);
        say(stage, rank, std::move(join));
    }

    tensor sparse(const std::vector<std::uint32_t>& indices, const std::vector<float>& values) {
        tensor t = tensor::allocate(memory, data_type::uint8, {8 * indices.size()}).value();
        if (!indices.empty()) {
            std::memcpy(t.mutable_data(), indices.data(), 4 * indices.size());
            std::memcpy(t.mutable_data() + 4 * indices.size(), values.data(), 4 * indices.size());
        }
        return t;
    }
    void submit(std::uint64_t id, const std::vector<tensor>& tensors) {
        frame_builder<proto::Reduce> b;
        b.body().setReduction(id);
        for (const tensor& t : tensors)
            b.attach(t);
        say(stage, rank, std::move(b));
    }
    void chunk(part& by, std::uint64_t id, const std::vector<tensor>& tensors,
               std::uint32_t round = 1, std::uint32_t slice = 0) {
        frame_builder<proto::ReduceChunk> b;
        b.body().setReduction(id);
        b.body().setRound(round);
        b.body().setSlice(slice);
        for (const tensor& t : tensors)
            b.attach(t);
        say(by, rank, std::move(b));
    }
    void check_ended(const std::string& why) {
        BOOST_REQUIRE(stage.log.downs.size() == 1u);
        BOOST_TEST(stage.log.downs[0].find(why) != std::string::npos, stage.log.downs[0]);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(sparse_reducers)

BOOST_FIXTURE_TEST_CASE(indices_and_values_are_sent_and_summed_with_what_comes, one_rank) {
    chunk(peer, 0, {floats({0.5f, 1}), sparse({3, 17}, {7, 4})}); // before the stage has anything
    submit(0, {floats({1, 1}), sparse({16, 17}, {0, 2})});
    BOOST_REQUIRE(peer.log.got.size() == 1u);
    const auto sent = peer.log.got[0]->tensors();
    BOOST_REQUIRE(sent.size() == 2u);
    BOOST_TEST(values_of(sent[0]) == (std::vector<float>{1, 1}), boost::test_tools::per_element());
    BOOST_TEST(sent[1].bytes() == 8u * 2); // of 100 numbers two
    BOOST_REQUIRE(stage.log.got.size() == 1u);
    const auto sums = stage.log.got[0]->tensors();
    BOOST_TEST(values_of(sums[0]) == (std::vector<float>{1.5f, 2}),
               boost::test_tools::per_element());
    std::vector<float> expected(outs * ins);
    expected[3] = 7, expected[17] = 6;
    BOOST_TEST(values_of(sums[1]) == expected, boost::test_tools::per_element());
    BOOST_TEST((sums[1].shape() == tensor_shape{outs, ins}));
}

BOOST_FIXTURE_TEST_CASE(a_rank_with_nothing_adds_nothing, one_rank) {
    submit(0, {});
    BOOST_REQUIRE(peer.log.got.size() == 1u);
    for (const tensor& part : peer.log.got[0]->tensors())
        BOOST_TEST(part.bytes() == 0u);
    chunk(peer, 0, {floats({0.5f, 1}), sparse({3}, {7})});
    chunk(peer, 1, {sparse({}, {}), sparse({}, {})}); // one ahead
    BOOST_REQUIRE(stage.log.got.size() == 1u);
    BOOST_TEST(stage.log.got[0]->tensors()[1].values<float>()[3] == 7.f);
    submit(1, {floats({1, 1}), sparse({16, 17}, {0, 2})});
    BOOST_REQUIRE(stage.log.got.size() == 2u);
    BOOST_TEST(stage.log.got[1]->tensors()[1].values<float>()[17] == 2.f);
}

BOOST_FIXTURE_TEST_CASE(a_part_of_another_size_or_type_ends_it, one_rank) {
    chunk(peer, 0, {floats({1, 2}), floats({1, 2})});
    check_ended("has not the elements that are due");
}
BOOST_FIXTURE_TEST_CASE(a_sparse_part_with_as_many_numbers_as_a_dense_one_ends_it, one_rank) {
    chunk(peer, 0, {sparse({0, 1}, {1, 1}), sparse({3}, {7})});
    check_ended("has not the elements that are due");
}
BOOST_FIXTURE_TEST_CASE(a_part_that_is_cut_off_ends_it, one_rank) {
    const tensor seven = tensor::allocate(memory, data_type::uint8, {7}).value();
    chunk(peer, 0, {floats({1, 2}), seven});
    check_ended("has not the elements that are due");
}
BOOST_FIXTURE_TEST_CASE(a_message_without_its_parts_ends_it, one_rank) {
    chunk(peer, 0, {floats({1, 2})});
    check_ended("has not the elements that are due");
}
BOOST_FIXTURE_TEST_CASE(an_index_beyond_the_part_ends_it, one_rank) {
    submit(0, {});
    chunk(peer, 0, {floats({1, 2}), sparse({3, 100}, {7, 7})});
    check_ended("has an index that is too large or not in order");
}
BOOST_FIXTURE_TEST_CASE(an_index_twice_ends_it, one_rank) {
    submit(0, {});
    chunk(peer, 0, {floats({1, 2}), sparse({3, 3}, {7, 7})});
    check_ended("has an index that is too large or not in order");
}
BOOST_FIXTURE_TEST_CASE(a_round_that_there_is_not_ends_it, one_rank) {
    chunk(peer, 0, {floats({1, 2}), sparse({3}, {7})}, 2);
    check_ended("comes from a rank that sends nothing then, or twice");
}
BOOST_FIXTURE_TEST_CASE(a_slice_that_there_is_not_ends_it, one_rank) {
    chunk(peer, 0, {floats({1, 2}), sparse({3}, {7})}, 1, 1);
    check_ended("comes from a rank that sends nothing then, or twice");
}
BOOST_FIXTURE_TEST_CASE(a_rank_that_sends_twice_ends_it, one_rank) {
    chunk(peer, 0, {floats({1, 2}), sparse({3}, {7})});
    chunk(peer, 0, {floats({1, 2}), sparse({3}, {7})});
    check_ended("or twice");
}
BOOST_FIXTURE_TEST_CASE(who_is_further_ahead_than_can_be_ends_it, one_rank) {
    chunk(peer, 2, {floats({1, 2}), sparse({3}, {7})});
    check_ended("arrives where 0 is due");
}
BOOST_FIXTURE_TEST_CASE(strangers_are_refused, one_rank) {
    chunk(stranger, 0, {floats({1, 2}), sparse({3}, {7})});
    BOOST_TEST(stranger.log.rejected.size() == 1u);
    BOOST_TEST(stage.log.downs.empty());
}

BOOST_AUTO_TEST_SUITE_END()
