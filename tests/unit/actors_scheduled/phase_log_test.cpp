// What a scheduler keeps for workers that take the place of lost ones, and in which order they are sent it.
#include <boost/test/unit_test.hpp>

#include "actors/scheduled/phase_log.hpp"

using namespace troupe;
using namespace troupe::scheduled;

namespace {

// Of the phases `first`, `first` + `step`, ... below `end`.
void add_to(phase_log& log, std::uint64_t first, std::uint64_t end, std::uint64_t step = 1) {
    for (; first < end; first += step)
        log.add({.sent = {first, false, {}}});
}

std::vector<std::uint64_t> sent_to(phase_log& log, std::uint32_t worker) {
    std::vector<std::uint64_t> numbers;
    while (const logged_phase* p = log.next(worker))
        numbers.push_back(p->sent.number);
    return numbers;
}

std::vector<std::uint64_t> range(std::uint64_t first, std::uint64_t end, std::uint64_t step = 1) {
    std::vector<std::uint64_t> numbers;
    for (; first < end; first += step)
        numbers.push_back(first);
    return numbers;
}

} // namespace

BOOST_AUTO_TEST_SUITE(phase_logs)

BOOST_AUTO_TEST_CASE(a_replay_is_of_all_phases_since_a_commit_in_order) {
    phase_log log;
    add_to(log, 1, 41, 3); // of scheduler 1 of three
    log.committed(10);
    BOOST_TEST(log.phases_since(0) == 11u); // 10, 13, ... 40
    BOOST_TEST(!log.begin_replay(2, 9));    // nobody goes back behind a commit
    BOOST_TEST(!log.replays(2));
    BOOST_TEST(log.begin_replay(2, 10));
    BOOST_TEST(log.begin_replay(0, 22));
    BOOST_TEST(sent_to(log, 2).empty()); // it is held
    BOOST_TEST(log.replays(2));
    log.release_replays();
    BOOST_TEST(sent_to(log, 2) == range(10, 41, 3), boost::test_tools::per_element());
    BOOST_TEST(!log.replays(2)); // it is told as all others are from now on
    BOOST_TEST(log.replays(0));
    add_to(log, 43, 44);
    BOOST_TEST(sent_to(log, 0) == range(22, 44, 3), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_worker_is_sent_a_bounded_number_of_phases_ahead_of_its_answers) {
    phase_log log;
    add_to(log, 0, 1000);
    BOOST_TEST(log.begin_replay(0, 100));
    log.release_replays();
    BOOST_TEST(sent_to(log, 0) == range(100, 100 + replay_ahead), boost::test_tools::per_element());
    BOOST_TEST(sent_to(log, 0).empty());
    BOOST_TEST(!log.answered(0, 100 + replay_ahead)); // it has not been sent that one
    BOOST_TEST(!log.answered(0, ~std::uint64_t{0} - 1));
    BOOST_TEST(sent_to(log, 0).empty());
    BOOST_TEST(log.answered(0, 100));
    BOOST_TEST(sent_to(log, 0) == std::vector<std::uint64_t>{100 + replay_ahead},
               boost::test_tools::per_element());
    BOOST_TEST(log.answered(0, 99)); // of before
    BOOST_TEST(sent_to(log, 0).empty());
    BOOST_TEST(log.answered(0, 100 + replay_ahead));
    BOOST_TEST(sent_to(log, 0).size() == replay_ahead);
    BOOST_TEST(log.replays(0));
}

BOOST_AUTO_TEST_CASE(it_forgets_what_is_behind_a_commit_but_nothing_that_a_replay_needs) {
    phase_log log;
    add_to(log, 0, 200);
    BOOST_TEST(log.begin_replay(0, 20));
    log.release_replays();
    BOOST_TEST(sent_to(log, 0).size() == replay_ahead);
    log.committed(150);
    BOOST_TEST(log.phases_since(0) == 200 - 20 - replay_ahead); // what it has yet to be sent
    for (std::uint64_t number = 20; number < 200; ++number) {
        BOOST_TEST(log.answered(0, number));
        static_cast<void>(sent_to(log, 0));
    }
    BOOST_TEST(!log.replays(0));
    BOOST_TEST(log.phases_since(0) == 50u);
}

BOOST_AUTO_TEST_CASE(beyond_its_limits_it_forgets_the_oldest_phases_unless_one_replays) {
    memory_pool memory{1u << 20};
    const auto content = payload_of(memory, std::vector<double>(25)).value();
    const std::uint64_t empty = logged_phase{}.bytes();
    const std::uint64_t half = logged_phase{.sent = {0, false, content}}.bytes();
    const std::uint64_t full = logged_phase{.sent = {0, false, content}, .due = content}.bytes();
    BOOST_TEST(empty > 0u); // a log of phases without tensors is bounded, too
    BOOST_TEST(half - empty > 200u);
    BOOST_TEST(full - half == half - empty);
    phase_log log{{.phases = 100, .bytes = 97 * empty + 2 * full + half}, 5};
    BOOST_TEST(log.begin_replay(0, 5));
    BOOST_TEST(!log.begin_replay(0, 4)); // before the incarnation
    log.release_replays();
    static_cast<void>(sent_to(log, 0));
    add_to(log, 5, 305);
    BOOST_TEST(log.size() == 100u);
    BOOST_TEST(!log.begin_replay(0, 204));
    for (std::uint64_t number = 305; number < 307; ++number)
        log.add({.sent = {number, false, content}, .due = content});
    BOOST_TEST(log.bytes() == 98 * empty + 2 * full);
    log.add({.sent = {307, false, content}, .due = {}});
    BOOST_TEST(log.bytes() == 97 * empty + 2 * full + half);
    BOOST_TEST(log.size() == 100u); // 208 and later
    log.add({.sent = {308, false, content}, .due = content});
    BOOST_TEST(log.bytes() <= 97 * empty + 2 * full + half);
    BOOST_TEST(log.size() < 100u);
    const std::uint64_t first = 309 - log.size();
    BOOST_TEST(first < 305u);
    BOOST_TEST(!log.begin_replay(1, first - 1));
    BOOST_TEST(log.begin_replay(1, first));
    for (std::uint64_t number = 309; number < 360; ++number)
        log.add({.sent = {number, false, content}, .due = content});
    BOOST_TEST(log.phases_since(first) == 360 - first); // more than it may keep else
    log.release_replays();
    for (std::uint64_t number = first; number < 360; ++number) {
        static_cast<void>(sent_to(log, 1));
        static_cast<void>(log.answered(1, number));
    }
    BOOST_TEST(!log.replays(1));
    log.committed(309);
    add_to(log, 360, 361);
    BOOST_TEST(log.bytes() <= 97 * empty + 2 * full + half);
}

BOOST_AUTO_TEST_SUITE_END()
