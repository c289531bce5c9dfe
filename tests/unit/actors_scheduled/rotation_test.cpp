// Blocks that pass from worker to worker: the arithmetic of their turns, and the shelf of a worker.
#include <boost/test/unit_test.hpp>

#include <set>

#include "actors/scheduled/block_shelf.hpp"

using namespace troupe;
using namespace troupe::scheduled;

namespace {

payload numbers(memory_pool& memory, double first) {
    return payload_of(memory, std::vector<double>{first, first + 1}).value();
}

std::vector<held_block> first_blocks(const rotation& ring, std::uint32_t worker,
                                     memory_pool& memory) {
    std::vector<held_block> blocks;
    for (std::uint64_t turn = 0; turn < ring.per_worker; ++turn)
        blocks.push_back({ring.block_of(worker, turn), turn, numbers(memory, 0)});
    return blocks;
}

} // namespace

BOOST_AUTO_TEST_SUITE(scheduled_rotation)

BOOST_AUTO_TEST_CASE(every_worker_has_every_block_once_a_sweep_and_nobody_has_anothers) {
    for (const std::uint32_t workers : {1u, 2u, 3u, 7u})
        for (const std::uint32_t per_worker : {1u, 2u, 5u}) {
            const rotation ring{workers, per_worker};
            for (std::uint32_t w = 0; w < workers; ++w) {
                std::set<std::uint32_t> had;
                for (std::uint64_t turn = 3 * ring.blocks(); turn < 4 * ring.blocks(); ++turn)
                    had.insert(ring.block_of(w, turn));
                BOOST_TEST(had.size() == ring.blocks());
            }
            for (std::uint64_t turn = 0; turn < 3 * ring.blocks(); ++turn) {
                std::set<std::uint32_t> at_once;
                for (std::uint32_t w = 0; w < workers; ++w)
                    at_once.insert(ring.block_of(w, turn));
                BOOST_TEST(at_once.size() == workers);
            }
        }
}

BOOST_AUTO_TEST_CASE(the_next_worker_has_the_block_as_many_turns_later_as_there_are_for_each) {
    const rotation ring{3, 4};
    for (std::uint32_t w = 0; w < 3; ++w)
        for (std::uint64_t turn = 0; turn < 30; ++turn) {
            const std::uint32_t next = ring.next_worker(w);
            BOOST_TEST(ring.block_of(next, ring.next_turn(turn)) == ring.block_of(w, turn));
            BOOST_TEST(ring.worker_before(next) == w);
        }
}

BOOST_AUTO_TEST_CASE(a_sweep_is_a_turn_for_each_block_and_a_probe) {
    const rotation ring{2, 2};
    std::uint64_t turns = 0;
    for (std::uint64_t phase = 0; phase < 23; ++phase) {
        BOOST_TEST(ring.is_probe(phase) == (phase % 5 == 4));
        BOOST_TEST(ring.turns_before(phase) == turns);
        turns += ring.is_probe(phase) ? 0 : 1;
    }
    std::set<std::uint32_t> last; // blocks that go nowhere else in the sweep
    for (std::uint32_t w = 0; w < 2; ++w)
        for (std::uint64_t turn = 4; turn < 8; ++turn)
            if (ring.is_last_of_sweep(turn))
                BOOST_TEST(last.insert(ring.block_of(w, turn)).second);
    BOOST_TEST(last.size() == ring.blocks());
}

BOOST_AUTO_TEST_CASE(a_shelf_takes_the_blocks_of_its_worker_alone) {
    memory_pool memory{1u << 20};
    const rotation ring{2, 2};
    block_shelf shelf{ring, 1};
    BOOST_TEST(shelf.restart(0, first_blocks(ring, 1, memory)).ok());
    BOOST_TEST(shelf.describe() == "2, 3");
    const auto refusal = [&](std::uint32_t block, std::uint64_t turn) {
        const auto put = shelf.put({block, turn, numbers(memory, 1)});
        return put ? std::string{} : put.failure().message();
    };
    BOOST_TEST(refusal(1, 2) == "block 1 for turn 2 is another worker's");
    BOOST_TEST(refusal(2, 0) == "block 2 for turn 0 is here already");
    BOOST_TEST(refusal(2, 4000000000u) == "block 2 for turn 4000000000 is not of the next turns");
    BOOST_TEST(refusal(0, 2).empty());
    BOOST_TEST(shelf.take(0).number == 2u);
    BOOST_TEST(refusal(2, 0) == "block 2 for turn 0 is not of the next turns");
}

BOOST_AUTO_TEST_CASE(a_shelf_begins_with_all_blocks_of_its_next_turns_or_as_it_was) {
    memory_pool memory{1u << 20};
    const rotation ring{2, 3};
    block_shelf shelf{ring, 0};
    BOOST_TEST(shelf.restart(0, first_blocks(ring, 0, memory)).ok());
    auto too_few = first_blocks(ring, 0, memory);
    too_few.pop_back();
    BOOST_TEST(shelf.restart(0, std::move(too_few)).failure().message() ==
               "blocks of the next turns are missing");
    BOOST_TEST(shelf.describe() == "0, 1, 2");
}

BOOST_AUTO_TEST_CASE(what_is_saved_at_a_phase_has_nothing_of_a_worker_that_is_ahead) {
    memory_pool memory{1u << 20};
    const rotation ring{2, 2};
    block_shelf shelf{ring, 0};
    BOOST_TEST(shelf.restart(0, first_blocks(ring, 0, memory)).ok());
    BOOST_TEST(shelf.put({2, 2, numbers(memory, 5)}).ok());
    BOOST_TEST(shelf.all_at(0).size() == 2u);
    BOOST_TEST(!shelf.has_all_at(2)); // turn 3 is missing
    BOOST_TEST(shelf.put({3, 3, numbers(memory, 6)}).ok());
    const auto later = shelf.all_at(2);
    BOOST_TEST_REQUIRE(later.size() == 2u);
    BOOST_TEST(later[0].number == 2u);
}

BOOST_AUTO_TEST_CASE(a_block_that_is_saved_keeps_its_numbers_when_its_worker_changes_it) {
    memory_pool memory{1u << 20};
    const rotation ring{1, 1};
    block_shelf shelf{ring, 0};
    BOOST_TEST(shelf.restart(0, first_blocks(ring, 0, memory)).ok());
    const auto saved = shelf.all_at(0);
    held_block mine = shelf.take(0);
    BOOST_TEST(make_own(mine.content, memory).ok());
    mine.content[0].mutable_values<double>()[0] = 17;
    BOOST_TEST(saved[0].content[0].values<double>()[0] == 0);
    const double* const before = mine.content[0].values<double>().data();
    BOOST_TEST(make_own(mine.content, memory).ok()); // nobody else has it: nothing is copied
    BOOST_TEST(mine.content[0].values<double>().data() == before);
}

BOOST_AUTO_TEST_SUITE_END()
