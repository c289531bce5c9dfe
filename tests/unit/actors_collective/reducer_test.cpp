// A reducer between a stage and peers that keep to the protocol or do not.
#include <boost/test/unit_test.hpp>

#include "actors/collective/reducer.hpp"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;
using algorithm = proto::AllReduceAlgorithm;

namespace {

constexpr std::uint64_t minibatch = 42;

frame_builder<proto::ReduceChunk> chunk(std::uint64_t reduction, std::uint32_t round,
                                        const std::vector<tensor>& parts) {
    frame_builder<proto::ReduceChunk> b;
    b.body().setReduction(reduction);
    b.body().setRound(round);
    for (const tensor& t : parts)
        b.attach(t);
    return b;
}

frame_builder<proto::Reduce> request(std::uint64_t reduction, const std::vector<tensor>& parts) {
    frame_builder<proto::Reduce> b;
    b.body().setReduction(reduction);
    b.envelope().setWork(minibatch);
    for (const tensor& t : parts)
        b.attach(t);
    return b;
}

frame_builder<proto::JoinReduction> membership(std::uint32_t rank,
                                               const std::vector<actor_address>& members) {
    frame_builder<proto::JoinReduction> b;
    b.body().setRank(rank);
    auto list = b.body().initMembers(static_cast<unsigned>(members.size()));
    for (unsigned r = 0; r < list.size(); ++r)
        write_address(list[r], members[r]);
    return b;
}

// Rank 0 of a ring of two: it receives the second half of the elements, and then the sum of the first.
struct one_reducer : puppet_stage {
    part& stage = add<proto::Reduced>("stage");
    part& peer = add<proto::ReduceChunk>("peer");
    part& stranger = add<>("stranger");
    actor_address rank;

    explicit one_reducer(std::size_t elements = 3) {
        rank = node.spawn<reducer>(
            "reducer", reducer_options{algorithm::RING, shared_device(), {tensor_shape{elements}}});
        watch(stage, rank);
        say(stage, rank, membership(0, {rank, peer.address}));
    }

    void reduce(std::uint64_t id) { say(stage, rank, request(id, {floats({1, 2, 3})})); }
    void check_ended(const std::string& sentence) {
        BOOST_REQUIRE(stage.log.downs.size() == 1u);
        BOOST_TEST(stage.log.downs[0].find(sentence) != std::string::npos, stage.log.downs[0]);
    }
    // It lives, and sums.
    void check_sums(std::uint64_t id) {
        BOOST_TEST(stage.log.downs.empty());
        reduce(id);
        say(peer, rank, chunk(id, 0, {floats({30})}));
        say(peer, rank, chunk(id, 1, {floats({11, 22})}));
        BOOST_REQUIRE(stage.log.got.size() == id + 1);
        BOOST_TEST(values_of(stage.log.got[id]->tensors()[0]) == (std::vector<float>{11, 22, 33}),
                   boost::test_tools::per_element());
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(reducers)

BOOST_FIXTURE_TEST_CASE(what_it_sends_and_works_on_tells_the_minibatch, one_reducer) {
    check_sums(0);
    check_sums(1);
    BOOST_TEST(stage.log.got[0]->envelope().getWork() == minibatch);
    BOOST_REQUIRE(peer.log.got.size() == 4u);
    for (const frame_ptr& f : peer.log.got)
        BOOST_TEST(f->envelope().getWork() == minibatch);
    BOOST_TEST(traced(proto::SUM_WORK->cStr(), minibatch) == 2u * 2); // what each round brings
}

// A place as schemas/collective.capnp names it.
place_name place_of(actor_address receiver, std::uint64_t reduction, std::uint64_t slice,
                    std::uint64_t round) {
    return {receiver.actor, reduction << 48 | slice << 24 | round};
}

BOOST_FIXTURE_TEST_CASE(each_part_names_its_place, one_reducer) {
    check_sums(0);
    check_sums(1);
    std::size_t at = 0;
    for (const std::uint64_t reduction : {0, 1})
        for (const std::uint64_t round : {0, 1})
            BOOST_TEST(
                (peer.log.got[at++]->place() == place_of(peer.address, reduction, 0, round)));
    const std::size_t elements = 5 * message_elements_default;
    one_reducer large{elements};
    large.say(large.stage, large.rank, request(0, {large.floats(std::vector<float>(elements))}));
    BOOST_REQUIRE(large.peer.log.got.size() == 3u);
    for (const std::uint64_t slice : {0, 1, 2})
        BOOST_TEST(
            (large.peer.log.got[slice]->place() == place_of(large.peer.address, 0, slice, 0)));
}

// As above, but its peer is on another node.
struct one_of_two_nodes : puppet_stage {
    part& stage = add<proto::Reduced>("stage");
    node_runtime& other = sim.add_node("b");
    puppet_log log;
    const actor_address peer = other.spawn<puppet_of<proto::ReduceChunk>>("peer", log);
    const actor_address rank = node.spawn<reducer>(
        "reducer", reducer_options{algorithm::RING, shared_device(), {tensor_shape{3}}});

    one_of_two_nodes() {
        node.connect("sim:b");
        settle();
        watch(stage, rank);
        say(stage, rank, membership(0, {rank, peer}));
        say(stage, rank, request(0, {floats({1, 2, 3})}));
    }
    void answer(frame_builder<proto::ReduceChunk> message) {
        auto kept = std::make_shared<frame_builder<proto::ReduceChunk>>(std::move(message));
        log.lines.push_back([kept, this](puppet& self) { self.send(rank, std::move(*kept)); });
        other.send(peer, frame_builder<proto::Probe>{});
        settle();
    }
    std::uint64_t bytes_held() { return compute.memory().statistics().bytes_in_use; }
};

BOOST_FIXTURE_TEST_CASE(a_finished_sum_takes_the_place_that_it_names, one_of_two_nodes) {
    answer(chunk(0, 0, {floats({30})}));
    BOOST_TEST(bytes_held() > 0u);
    auto sum = chunk(0, 1, {floats({11, 22})});
    sum.name_place(place_of(rank, 0, 0, 1));
    answer(std::move(sum));
    BOOST_REQUIRE(stage.log.got.size() == 1u);
    BOOST_TEST(values_of(stage.log.got[0]->tensors()[0]) == (std::vector<float>{11, 22, 33}),
               boost::test_tools::per_element());
    stage.log.got.clear();
    log.got.clear();
    settle();
    BOOST_TEST(bytes_held() == 0u); // no place holds it
}

// Its sender may still write into the place, which is part of the sum.
BOOST_AUTO_TEST_CASE(a_finished_sum_that_is_not_in_its_place_ends_it) {
    for (const bool names_another : {false, true}) {
        one_of_two_nodes r;
        r.answer(chunk(0, 0, {r.floats({30})}));
        auto sum = chunk(0, 1, {r.floats({11, 22})});
        if (names_another)
            sum.name_place(place_of(r.rank, 0, 0, 0));
        r.answer(std::move(sum));
        BOOST_TEST(r.stage.log.got.empty());
        BOOST_REQUIRE(r.stage.log.downs.size() == 1u);
        BOOST_TEST(r.stage.log.downs[0].find("reduction 0 slice 0 round 1: a finished sum is not "
                                             "where it was to be received") != std::string::npos,
                   r.stage.log.downs[0]);
        r.log.got.clear();
        r.settle();
        BOOST_TEST(r.bytes_held() == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(what_it_expects_is_forgotten_when_it_ends, one_of_two_nodes) {
    BOOST_TEST(bytes_held() > 0u);
    node.end(rank, error{errc::cancelled, "enough"});
    log.got.clear();
    settle();
    BOOST_TEST(bytes_held() == 0u);
}

BOOST_FIXTURE_TEST_CASE(who_has_no_part_in_it_is_refused, one_reducer) {
    say(stranger, rank, chunk(0, 0, {floats({30})}));
    say(stranger, rank, request(0, {floats({1, 2, 3})}));
    say(stranger, rank, membership(0, {rank, stranger.address}));
    BOOST_TEST(stranger.log.rejected.size() == 3u);
    check_sums(0);
}

BOOST_AUTO_TEST_CASE(a_chunk_that_is_not_due_ends_it) {
    struct bad {
        std::uint64_t reduction;
        std::uint32_t round;
        std::vector<float> values;
        const char* sentence;
    };
    const bad all[] = {
        {1, 0, {30}, "reduction 1 slice 0 round 0: arrives where 0 is due"},
        {~0ull, 0, {30}, "arrives where 0 is due"},
        {0,
         2,
         {30},
         "reduction 0 slice 0 round 2: comes from a rank that sends nothing then, or twice"},
        {0, 0, {30, 31}, "reduction 0 slice 0 round 0: has not the elements that are due"},
        {0, 1, {30}, "reduction 0 slice 0 round 1: has not the elements that are due"},
    };
    for (const bad& b : all) {
        one_reducer r;
        r.say(r.peer, r.rank, chunk(b.reduction, b.round, {r.floats(b.values)}));
        r.check_ended(b.sentence);
    }
    for (const bool twice : {false, true}) {
        one_reducer r;
        std::vector<tensor> parts(twice ? 2 : 1, twice ? r.floats({30}) : r.integers(1));
        r.say(r.peer, r.rank, chunk(0, 0, parts));
        r.check_ended("has not the elements that are due");
    }
}

BOOST_FIXTURE_TEST_CASE(a_chunk_that_comes_twice_ends_it, one_reducer) {
    say(peer, rank, chunk(0, 0, {floats({30})}));
    say(peer, rank, chunk(0, 0, {floats({30})}));
    check_ended("or twice");
}

BOOST_FIXTURE_TEST_CASE(a_chunk_of_a_round_that_is_over_ends_it, one_reducer) {
    reduce(0);
    say(peer, rank, chunk(0, 0, {floats({30})}));
    say(peer, rank, chunk(0, 0, {floats({30})}));
    check_ended("reduction 0 slice 0 round 0: comes from a rank that sends nothing then, or twice");
}

BOOST_FIXTURE_TEST_CASE(a_chunk_of_a_reduction_that_is_over_ends_it, one_reducer) {
    check_sums(0);
    say(peer, rank, chunk(0, 1, {floats({11, 22})}));
    check_ended("reduction 0 slice 0 round 1: arrives where 1 is due");
}

BOOST_AUTO_TEST_CASE(a_chunk_of_a_round_without_elements_ends_it) {
    one_reducer r{1};
    r.say(r.peer, r.rank, chunk(0, 0, {}));
    r.check_ended("comes from a rank that sends nothing then, or twice");
}

BOOST_FIXTURE_TEST_CASE(a_stage_that_asks_out_of_turn_ends_it, one_reducer) {
    reduce(1);
    check_ended("reduction 1 is asked for where 0 is due");
}

BOOST_FIXTURE_TEST_CASE(a_stage_that_asks_for_other_shapes_ends_it, one_reducer) {
    say(stage, rank, request(0, {floats({1, 2})}));
    check_ended("has not the shapes of the stage's weights");
}

BOOST_FIXTURE_TEST_CASE(a_peer_that_refuses_a_chunk_ends_it, one_reducer) {
    act(peer, [](puppet& self) { self.refuse(); });
    reduce(0);
    check_ended("a reducer refused a message: no");
}

BOOST_FIXTURE_TEST_CASE(a_chunk_of_a_slice_that_is_not_there_ends_it, one_reducer) {
    auto beyond = chunk(0, 0, {floats({30})});
    beyond.body().setSlice(1);
    say(peer, rank, std::move(beyond));
    check_ended("reduction 0 slice 1 round 0: there is no such slice");
}

BOOST_AUTO_TEST_CASE(what_is_ready_first_is_sent_before_the_rest_is_there) {
    constexpr std::size_t large = 3 * message_elements_default; // elements: more than a slice
    puppet_stage s;
    auto& stage = s.add<proto::Reduced>("stage");
    auto& peer = s.add<proto::ReduceChunk>("peer");
    const actor_address rank = s.node.spawn<reducer>(
        "reducer", reducer_options{
                       algorithm::RING, s.shared_device(), {tensor_shape{1}, tensor_shape{large}}});
    s.watch(stage, rank);
    s.say(stage, rank, membership(0, {rank, peer.address}));
    auto later_layers = request(0, {s.floats(std::vector<float>(large, 1))});
    later_layers.body().setFirst(1);
    s.say(stage, rank, std::move(later_layers));
    BOOST_TEST(peer.log.got.size() ==
               1u); // the slice that holds the first tensor, too, waits for it
    s.say(stage, rank, request(0, {s.floats({5})}));
    BOOST_TEST(peer.log.got.size() == 2u);
    for (const frame_ptr& f : peer.log.got) {
        const std::uint32_t slice = f->body<proto::ReduceChunk>().getSlice();
        BOOST_TEST(slice == static_cast<std::size_t>(&f - peer.log.got.data()));
    }
    BOOST_TEST(stage.log.downs.empty());
    auto again = request(0, {s.floats({5})});
    s.say(stage, rank, std::move(again));
    BOOST_REQUIRE(stage.log.downs.size() == 1u);
    BOOST_TEST(stage.log.downs[0].find("reduction 0 is asked for where 1 is due") !=
                   std::string::npos,
               stage.log.downs[0]);
}

BOOST_AUTO_TEST_CASE(tensors_that_come_out_of_their_order_end_it) {
    puppet_stage s;
    auto& stage = s.add<proto::Reduced>("stage");
    auto& peer = s.add<proto::ReduceChunk>("peer");
    const actor_address rank = s.node.spawn<reducer>(
        "reducer",
        reducer_options{algorithm::RING, s.shared_device(), {tensor_shape{1}, tensor_shape{2}}});
    s.watch(stage, rank);
    s.say(stage, rank, membership(0, {rank, peer.address}));
    s.say(stage, rank, request(0, {s.floats({5})}));
    BOOST_REQUIRE(stage.log.downs.size() == 1u);
    BOOST_TEST(stage.log.downs[0].find("has not the shapes") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(in_16_bits_it_takes_two_bytes_for_each_number_and_no_floats) {
    for (const bool is_stage_wrong : {false, true}) {
        puppet_stage s;
        auto& stage = s.add<proto::Reduced>("stage");
        auto& peer = s.add<proto::ReduceChunk>("peer");
        const actor_address rank =
            s.node.spawn<reducer>("reducer", reducer_options{algorithm::RING,
                                                             s.shared_device(),
                                                             {tensor_shape{1}, tensor_shape{2}},
                                                             1,
                                                             part_numbers{half_format::bf16}});
        s.watch(stage, rank);
        s.say(stage, rank, membership(0, {rank, peer.address}));
        const tensor halves =
            tensor::allocate(s.shared_device()->memory(), data_type::uint8, {4}).value();
        s.say(stage, rank, request(0, {s.floats({5}), is_stage_wrong ? s.floats({1, 2}) : halves}));
        if (!is_stage_wrong) {
            BOOST_TEST(stage.log.downs.empty());
            BOOST_TEST(peer.log.got.at(0)->tensors()[0].bytes() == 2u);
            s.say(peer, rank, chunk(0, 0, {s.floats({1})}));
        }
        BOOST_REQUIRE(stage.log.downs.size() == 1u);
        BOOST_TEST(stage.log.downs[0].find(is_stage_wrong ? "has not the shapes"
                                                          : "has not the elements that are due") !=
                       std::string::npos,
                   stage.log.downs[0]);
    }
}

BOOST_AUTO_TEST_CASE(ranks_beyond_the_elements_send_no_empty_messages) {
    constexpr std::uint32_t ranks = 5;
    for (const algorithm a : list_algorithms()) {
        puppet_stage s;
        std::vector<actor_address> members;
        for (std::uint32_t r = 0; r < ranks; ++r) {
            s.add<proto::Reduced>("stage");
            members.push_back(s.node.spawn<reducer>(
                "reducer", reducer_options{a, s.shared_device(), {tensor_shape{3}}}));
        }
        for (std::uint32_t r = 0; r < ranks; ++r)
            s.say(s.parts[r], members[r], membership(r, members));
        for (std::uint32_t r = 0; r < ranks; ++r)
            s.say(s.parts[r], members[r],
                  request(0, {s.floats({1.0f * r, 10.0f * r, 100.0f * r})}));
        const rank_nodes on_one_node{std::vector<std::uint32_t>(ranks, 0)};
        const std::size_t segments = segments_of(a, on_one_node);
        std::size_t expected = 0, all = 0;
        for (std::uint32_t r = 0; r < ranks; ++r) {
            BOOST_REQUIRE(s.parts[r].log.got.size() == 1u);
            BOOST_TEST(values_of(s.parts[r].log.got[0]->tensors()[0]) ==
                           (std::vector<float>{10, 100, 1000}),
                       boost::test_tools::per_element());
            for (const reduce_transfer& t : list_transfers(a, r, on_one_node)) {
                std::size_t elements = 0;
                for (std::size_t k = 0; k < t.sends.count; ++k)
                    elements += elements_of(t.sends.first + k, segments, 3).count;
                expected += elements > 0;
                all += t.to != nobody;
            }
        }
        const auto sent =
            std::ranges::count_if(s.node.trace().read(0, 1u << 12).events, [](const auto& e) {
                return e.type == type_id_of<proto::ReduceChunk>();
            });
        BOOST_TEST(static_cast<std::size_t>(sent) == expected);
        BOOST_TEST((expected < all) == (segments > 3)); // some would be empty
    }
}

BOOST_AUTO_TEST_SUITE_END()
