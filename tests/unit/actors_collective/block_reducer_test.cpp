// A rank of an all-reduce by blocks between its stage and peers that keep to the protocol or do not.
#include <boost/test/unit_test.hpp>

#include <cstring>
#include <limits>

#include "actors/collective/block_reducer.hpp"
#include "kernels/codec/codecs.hpp"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::size_t row_size = 25;

// One of three ranks, the second unless said otherwise, with two weights of rows of which each is told by a bit; each rank
// owns two rows of either. The stage is a puppet, as are the peers.
struct one_reducer : puppet_stage {
    part& stage = add<proto::Reduced>("stage");
    part& first = add<proto::ReduceChunk>("first");
    part& third = add<proto::ReduceChunk>("third");
    part& stranger = add<>("stranger");
    const codec_ptr how = with_error_feedback(make_sign_codec());
    actor_address rank;

    explicit one_reducer(std::size_t rows = 6, std::size_t averages = 0, bool is_last = false) {
        compressed_options options;
        options.codec = how;
        options.compute = shared_device();
        options.shapes.assign(averages, tensor_shape{2});
        options.shapes.insert(options.shapes.end(), 2, tensor_shape{rows, row_size});
        options.averages = averages;
        options.forms.resize(averages);
        options.forms.resize(options.shapes.size(), how);
        rank = node.spawn<block_reducer>("reducer", std::move(options));
        watch(stage, rank);
        frame_builder<proto::JoinReduction> join;
        join.body().setRank(is_last ? 2 : 1);
        auto members = join.body().initMembers(3);
        write_address(members[0], first.address);
        write_address(members[1], is_last ? third.address : rank);
        write_address(members[2], is_last ? rank : third.address);
        say(stage, rank, std::move(join));
    }

    // Of rows that have this number in every place; two of them are a block.
    tensor payload(float value, std::size_t rows = 2) {
        tensor t = tensor::allocate(memory, data_type::float32, {rows, row_size}).value();
        std::ranges::fill(t.mutable_values<float>(), value);
        compute_context context{*ops, memory};
        return make_sign_codec()->encode(context, t, {}, {}).value();
    }
    float value_of(const tensor& payload) {
        compute_context context{*ops, memory};
        return decoded(context, *how, {2, row_size}, payload).value().values<float>()[7];
    }
    template <class Body>
    frame_builder<Body> of(std::uint64_t reduction, const std::vector<tensor>& tensors) {
        frame_builder<Body> b;
        b.body().setReduction(reduction);
        for (const tensor& t : tensors)
            b.attach(t);
        return b;
    }
    void submit(std::uint64_t id, const std::vector<tensor>& tensors, std::uint32_t from = 0,
                float scale = 1) {
        auto b = of<proto::Reduce>(id, tensors);
        b.body().setFirst(from);
        b.body().setScale(scale);
        say(stage, rank, std::move(b));
    }
    void chunk(part& by, std::uint64_t id, std::uint32_t round, const std::vector<tensor>& tensors,
               std::uint32_t slice = 0) {
        auto b = of<proto::ReduceChunk>(id, tensors);
        b.body().setSlice(slice);
        b.body().setRound(round);
        say(by, rank, std::move(b));
    }
    // This rank and the first have submitted what they have of all, the third has not.
    void all_but_one_give() {
        submit(0, {payload(2, 6), payload(3, 6)});
        chunk(first, 0, 0, {payload(10), payload(20)});
    }
    float sum_of(std::size_t reduction, std::size_t tensor, std::size_t row) {
        return stage.log.got[reduction]->tensors()[tensor].values<float>()[row * row_size + 3];
    }
    void check_ended(const std::string& why) {
        BOOST_REQUIRE(stage.log.downs.size() == 1u);
        BOOST_TEST(stage.log.downs[0].find(why) != std::string::npos, stage.log.downs[0]);
    }
};

struct with_averages : one_reducer {
    with_averages() : one_reducer{6, 1} {}
};
// Of which the first two ranks own the rows of both weights.
struct of_one_row : one_reducer {
    of_one_row() : one_reducer{1} {}
};
struct who_owns_nothing : one_reducer {
    who_owns_nothing() : one_reducer{1, 0, true} {}
};

} // namespace

BOOST_AUTO_TEST_SUITE(block_reducers)

BOOST_FIXTURE_TEST_CASE(blocks_go_to_their_owners_and_sums_to_all, one_reducer) {
    chunk(third, 0, 0, {payload(100), payload(200)}); // before the stage has anything
    submit(0, {payload(2, 6), payload(3, 6)}, 0, 0.5f);
    for (const part* peer : {&first, &third}) {
        BOOST_REQUIRE(peer->log.got.size() == 1u);
        const auto sent = peer->log.got[0]->tensors();
        BOOST_REQUIRE(sent.size() == 2u);
        BOOST_TEST(sent[1].bytes() == 2u * (8 + 4)); // two means of each row, and 25 bits
        BOOST_TEST(value_of(sent[0]) == 2.f);
        BOOST_TEST(value_of(sent[1]) == 3.f);
        BOOST_TEST(peer->log.got[0]->body<proto::ReduceChunk>().getRound() == 0u);
    }
    chunk(first, 0, 0, {payload(10), payload(20)});
    for (const part* peer : {&first, &third}) {
        BOOST_REQUIRE(peer->log.got.size() == 2u);
        BOOST_TEST(peer->log.got[1]->body<proto::ReduceChunk>().getRound() == 1u);
        BOOST_TEST(value_of(peer->log.got[1]->tensors()[0]) == 112.f);
        BOOST_TEST(value_of(peer->log.got[1]->tensors()[1]) == 223.f);
    }
    chunk(first, 0, 1, {payload(1000), payload(2000)});
    BOOST_TEST(stage.log.got.empty());
    chunk(third, 0, 1, {payload(4000), payload(6000)});
    BOOST_REQUIRE(stage.log.got.size() == 1u);
    const std::vector<float> expected{1000, 112, 4000, 2000, 223, 6000};
    for (std::size_t t = 0; t < 2; ++t)
        for (std::size_t row = 0; row < 6; ++row)
            BOOST_TEST(sum_of(0, t, row) == 0.5f * expected[3 * t + row / 2]);
}

BOOST_FIXTURE_TEST_CASE(what_is_ready_first_goes_first, one_reducer) {
    submit(0, {payload(3, 6)}, 1);
    BOOST_REQUIRE(first.log.got.size() == 1u); // while the stage has yet to give the rest
    BOOST_TEST(first.log.got[0]->body<proto::ReduceChunk>().getSlice() == 1u);
    chunk(first, 0, 0, {payload(10)}, 1);
    chunk(third, 0, 0, {payload(20), payload(100)}); // of another bucket size
    BOOST_REQUIRE(first.log.got.size() == 2u);       // the sum of what all have submitted
    BOOST_TEST(first.log.got[1]->body<proto::ReduceChunk>().getSlice() == 1u);
    BOOST_TEST(value_of(first.log.got[1]->tensors()[0]) == 113.f);
    chunk(third, 0, 1, {payload(7)}, 1);
    chunk(first, 0, 0, {payload(200)});
    submit(0, {payload(400, 6)});
    BOOST_REQUIRE(third.log.got.size() == 4u);
    BOOST_TEST(value_of(third.log.got[3]->tensors()[0]) == 620.f);
    chunk(first, 0, 1, {payload(5), payload(6)});
    BOOST_TEST(stage.log.got.empty());
    chunk(third, 0, 1, {payload(8)});
    BOOST_REQUIRE(stage.log.got.size() == 1u);
    const std::vector<float> expected{5, 620, 8, 6, 113, 7};
    for (std::size_t t = 0; t < 2; ++t)
        for (std::size_t row = 0; row < 6; ++row)
            BOOST_TEST(sum_of(0, t, row) == expected[3 * t + row / 2]);
}

// A row of 1 and 3 is told as their mean; what is lost comes with the next sum of this block.
BOOST_FIXTURE_TEST_CASE(what_an_encoded_sum_loses_is_added_to_the_next, one_reducer) {
    // Signs of the even columns, in both rows: these are 3 and the others -1.
    tensor mixed = payload(3);
    const std::size_t row = mixed.bytes() / 2;
    const float below = -1;
    for (const std::size_t r : {std::size_t{0}, row}) {
        std::memcpy(mixed.mutable_data() + r + 4, &below, 4);
        for (std::size_t b = 0; b < 4; ++b)
            mixed.mutable_data()[r + 8 + b] =
                std::byte{static_cast<unsigned char>(b < 3 ? 0x55 : 1)};
    }
    // With 10 all are above 0, 13 in the even columns and 9 in the others: one mean of 13 * 13 + 12 * 9 over 25.
    chunk(third, 0, 0, {mixed, payload(0)});
    chunk(first, 0, 0, {payload(10), payload(0)});
    submit(0, {payload(0, 6), payload(0, 6)});
    const float mean = (13 * 13.f + 12 * 9) / 25;
    BOOST_REQUIRE(first.log.got.size() == 2u);
    BOOST_TEST(value_of(first.log.got[1]->tensors()[0]) == mean);
    for (part* peer : {&first, &third})
        chunk(*peer, 0, 1, {payload(0), payload(0)});
    // Then nobody has anything: what is told is what is left, of two signs and so exact.
    for (part* peer : {&first, &third})
        chunk(*peer, 1, 0, {});
    submit(1, {});
    for (part* peer : {&first, &third})
        chunk(*peer, 1, 1, {payload(0), payload(0)});
    BOOST_REQUIRE(stage.log.got.size() == 2u);
    const auto sum = stage.log.got[1]->tensors()[0].values<float>();
    for (std::size_t i = 2 * row_size; i < 4 * row_size; ++i) {
        const float given = i % row_size % 2 == 0 ? 13 : 9;
        BOOST_TEST(std::abs(sum[i] - (given - mean)) < 1e-5f);
    }
}

BOOST_FIXTURE_TEST_CASE(a_rank_with_nothing_adds_nothing, one_reducer) {
    chunk(first, 0, 0, {});
    submit(0, {});
    BOOST_TEST(first.log.got[0]->tensors().empty());
    chunk(first, 1, 0, {}); // one ahead
    chunk(third, 0, 0, {payload(4), payload(5)});
    for (part* peer : {&first, &third})
        chunk(*peer, 0, 1, {payload(1), payload(2)});
    BOOST_REQUIRE(stage.log.got.size() == 1u);
    BOOST_TEST(sum_of(0, 0, 2) == 4.f);
    BOOST_TEST(sum_of(0, 1, 3) == 5.f);
    submit(1, {});
    chunk(third, 1, 0, {});
    for (part* peer : {&first, &third})
        chunk(*peer, 1, 1, {payload(1), payload(2)});
    BOOST_REQUIRE(stage.log.got.size() == 2u);
    BOOST_TEST(sum_of(1, 0, 2) == 0.f);
    BOOST_TEST(sum_of(1, 0, 0) == 1.f);
}

BOOST_FIXTURE_TEST_CASE(who_owns_nothing_is_given_nothing, of_one_row) {
    submit(0, {payload(1, 1), payload(2, 1)});
    BOOST_TEST(first.log.got.size() == 1u);
    BOOST_TEST(third.log.got.empty());
    chunk(first, 0, 0, {payload(10, 1)});
    chunk(third, 0, 0, {payload(20, 1)});
    BOOST_TEST(third.log.got.size() == 1u); // the sum
    chunk(first, 0, 1, {payload(7, 1)});
    BOOST_REQUIRE(stage.log.got.size() == 1u);
    BOOST_TEST(sum_of(0, 0, 0) == 7.f);
    BOOST_TEST(sum_of(0, 1, 0) == 32.f);
    submit(1, {});
    BOOST_TEST(first.log.got.size() == 3u);
    BOOST_TEST(third.log.got.size() == 1u);
    chunk(third, 1, 1, {payload(1, 1)});
    check_ended("reduction 1: comes from a rank that sends nothing then, or twice");
}

BOOST_FIXTURE_TEST_CASE(an_owner_of_nothing_takes_the_sums, who_owns_nothing) {
    submit(0, {payload(1, 1), payload(2, 1)});
    BOOST_TEST(first.log.got.size() == 1u);
    chunk(first, 0, 1, {payload(7, 1)});
    chunk(third, 0, 1, {payload(8, 1)});
    BOOST_REQUIRE(stage.log.got.size() == 1u);
    BOOST_TEST(sum_of(0, 0, 0) == 7.f);
    BOOST_TEST(sum_of(0, 1, 0) == 8.f);
    BOOST_TEST(first.log.got.size() == 1u); // no sum
}
BOOST_FIXTURE_TEST_CASE(zeros_for_an_owner_of_nothing_end_it, who_owns_nothing) {
    chunk(first, 0, 0, {});
    check_ended("sends nothing then");
}

// The sums themselves: tests/sim/block_seeds_test.cpp.
BOOST_FIXTURE_TEST_CASE(a_slice_of_what_is_not_compressed_that_does_not_fit_ends_it,
                        with_averages) {
    chunk(first, 0, 77, {floats({1})});
    check_ended("reduction 0: comes from a rank that sends nothing then, or twice");
}
BOOST_FIXTURE_TEST_CASE(a_payload_of_another_size_ends_it, one_reducer) {
    chunk(first, 0, 0, {payload(1), payload(1, 3)});
    check_ended("a payload of uint8 [36] is none of a tensor of [2, 25]");
}
BOOST_FIXTURE_TEST_CASE(a_sum_of_another_size_ends_it, one_reducer) {
    all_but_one_give();
    chunk(first, 0, 1, {payload(1), payload(1, 3)});
    check_ended("a payload of uint8 [36] is none of a tensor of [2, 25]");
}
BOOST_FIXTURE_TEST_CASE(a_payload_that_no_encoder_makes_ends_it, one_reducer) {
    tensor damaged = payload(1);
    damaged.mutable_data()[11] = std::byte{0xff}; // beyond the row's end
    all_but_one_give();
    chunk(third, 0, 0, {payload(2), damaged});
    check_ended("summing over replicas");
}
BOOST_FIXTURE_TEST_CASE(a_sum_that_no_encoder_makes_ends_it, one_reducer) {
    tensor damaged = payload(1);
    damaged.mutable_data()[11] = std::byte{0xff};
    all_but_one_give();
    chunk(third, 0, 1, {payload(2), damaged});
    check_ended("summing over replicas");
}
BOOST_FIXTURE_TEST_CASE(a_rank_that_sends_nothing_twice_ends_it, one_reducer) {
    chunk(first, 0, 0, {payload(1), payload(1)});
    chunk(first, 0, 0, {});
    check_ended("or twice");
}
BOOST_FIXTURE_TEST_CASE(a_rank_that_sends_a_payload_twice_ends_it, one_reducer) {
    chunk(first, 0, 0, {payload(1)}, 1);
    chunk(first, 0, 0, {payload(1)}, 1);
    check_ended("or twice");
}
BOOST_FIXTURE_TEST_CASE(a_rank_that_sends_a_sum_twice_ends_it, one_reducer) {
    all_but_one_give();
    chunk(third, 0, 1, {payload(1)}, 1);
    chunk(third, 0, 1, {payload(1)}, 1);
    check_ended("or twice");
}
BOOST_FIXTURE_TEST_CASE(an_owner_that_has_no_sum_ends_it, one_reducer) {
    all_but_one_give();
    chunk(third, 0, 1, {});
    check_ended("sends nothing then");
}
BOOST_FIXTURE_TEST_CASE(a_sum_before_what_it_is_of_ends_it, one_reducer) {
    chunk(third, 0, 1, {payload(1), payload(1)}); // this rank has given nothing yet
    check_ended("sends nothing then");
}
BOOST_FIXTURE_TEST_CASE(a_sum_of_the_next_reduction_ends_it, one_reducer) {
    all_but_one_give();
    chunk(third, 1, 1, {payload(1), payload(1)});
    check_ended("sends nothing then");
}
BOOST_FIXTURE_TEST_CASE(a_payload_out_of_turn_ends_it, one_reducer) {
    chunk(first, 0, 0, {payload(1)}, 0); // the last one is due
    check_ended("sends nothing then");
}
BOOST_FIXTURE_TEST_CASE(a_payload_beyond_the_last_ends_it, one_reducer) {
    chunk(first, 0, 0, {payload(1)}, ~0u);
    check_ended("sends nothing then");
}
BOOST_FIXTURE_TEST_CASE(a_round_that_there_is_not_ends_it, one_reducer) {
    all_but_one_give();
    chunk(first, 0, 2, {payload(1), payload(1)});
    check_ended("sends nothing then");
}
BOOST_FIXTURE_TEST_CASE(who_is_further_ahead_than_can_be_ends_it, one_reducer) {
    chunk(first, 2, 0, {});
    check_ended("arrives where 0 is due");
}
BOOST_FIXTURE_TEST_CASE(strangers_are_refused, one_reducer) {
    chunk(stranger, 0, 0, {});
    submit(0, {payload(2, 6), payload(2, 6)});
    BOOST_TEST(stranger.log.rejected.size() == 1u);
    BOOST_TEST(stage.log.downs.empty());
}
BOOST_FIXTURE_TEST_CASE(what_a_stage_gives_that_does_not_fit_ends_it, one_reducer) {
    submit(0, {payload(1, 6), payload(1, 5)});
    check_ended("what is to be summed: a payload of uint8 [60]");
}

BOOST_AUTO_TEST_SUITE_END()
