// Updates of the same weights without locks, by threads.
#include <boost/test/unit_test.hpp>

#include <thread>

#include "actors/peers/hogwild_peer.hpp"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;
using few_numbers = std::vector<float>;

BOOST_AUTO_TEST_SUITE(weights_in_shared_memory)

// Of whole numbers, whose sums are exact in any order.
BOOST_AUTO_TEST_CASE(no_update_is_lost) {
    constexpr std::size_t numbers = 5, updates = 20000;
    shared_weights shared;
    shared.begin(few_numbers(numbers, 1.0f));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&shared, t] {
            few_numbers before(numbers), after(numbers);
            for (std::size_t k = 0; k < updates; ++k) {
                shared.read(before);
                for (std::size_t i = 0; i < numbers; ++i)
                    after[i] =
                        before[i] + static_cast<float>((i + static_cast<std::size_t>(t)) % 3);
                shared.add(before, after);
            }
        });
    for (std::thread& t : threads)
        t.join();
    few_numbers sum(numbers);
    shared.read(sum);
    for (std::size_t i = 0; i < numbers; ++i) {
        std::size_t more = 0;
        for (std::size_t t = 0; t < 4; ++t)
            more += (i + t) % 3;
        BOOST_TEST(sum[i] == 1.0f + static_cast<float>(more * updates));
    }
}

BOOST_AUTO_TEST_CASE(alone_what_was_computed_is_stored_bit_by_bit) {
    shared_weights shared;
    shared.begin(few_numbers{1e8f, 1, 0.1f});
    shared.begin(few_numbers{7, 7, 7}); // of another replica, which has the same
    const few_numbers before{1e8f, 1, 0.1f}, after{0.3f, 1, 0.7f};
    shared.add(before, after); // 1e8 + (0.3 - 1e8) would be 0
    few_numbers now(3);
    shared.read(now);
    BOOST_TEST(now == after, boost::test_tools::per_element());
    shared.add({few_numbers{0, 0, 0}}, {few_numbers{0, 2, 0}}); // of older ones
    shared.read(now);
    BOOST_TEST(now == (few_numbers{0.3f, 3, 0.7f}), boost::test_tools::per_element());
}

namespace {

struct two_replicas : puppet_stage {
    std::shared_ptr<shared_weights> shared = std::make_shared<shared_weights>();
    std::vector<part*> stages;
    std::vector<actor_address> replicas;

    two_replicas() {
        for (int r = 0; r < 2; ++r) {
            stages.push_back(&add<proto::Exchanged, proto::Common>("stage"));
            replicas.push_back(node.spawn<hogwild_peer>(
                "peer", peer_options{shared_device(), {}, {tensor_shape{2}}}, shared));
        }
        for (std::uint32_t r = 0; r < 2; ++r) {
            frame_builder<proto::JoinPeers> join;
            join.body().setRank(r);
            auto members = join.body().initMembers(2);
            for (unsigned m = 0; m < 2; ++m)
                write_address(members[m], replicas[m]);
            join.attach(floats({1, 1}));
            say(*stages[r], replicas[r], std::move(join));
        }
    }
    few_numbers exchange(std::size_t r, const few_numbers& own) {
        frame_builder<proto::Exchange> exchange;
        exchange.attach(floats(own));
        say(*stages[r], replicas[r], std::move(exchange));
        const auto answer = stages[r]->log.all<proto::Exchanged>().back();
        BOOST_TEST(answer->body<proto::Exchanged>().getFactor() == 0.0f);
        return values_of(answer->tensors()[0]);
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(replicas_get_each_others_updates, two_replicas) {
    BOOST_TEST(exchange(0, {2, 1}) == (few_numbers{2, 1}));
    BOOST_TEST(exchange(1, {1, 4}) == (few_numbers{2, 4}));
    say(*stages[0], replicas[0], frame_builder<proto::ReadCommon>{});
    BOOST_TEST(values_of(stages[0]->log.all<proto::Common>().back()->tensors()[0]) ==
               (few_numbers{2, 4}));
    // It has trained on with what it got before it read what is common.
    BOOST_TEST(exchange(0, {3, 1}) == (few_numbers{3, 4}));
}

BOOST_AUTO_TEST_SUITE_END()
