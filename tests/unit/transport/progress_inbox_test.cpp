#include <boost/test/unit_test.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include "transport/node/progress_inbox.hpp"
#include "transport/tcp/poll_set.hpp"

using namespace troupe;

namespace {

constexpr std::uint64_t wake_id = 1;

struct one_inbox {
    progress_inbox inbox;
    poll_set poll;

    one_inbox() {
        BOOST_REQUIRE((poll && inbox.is_open()));
        poll.watch(inbox.descriptor(), wake_id);
    }
    bool is_woken() { return !poll.wait(duration{}).empty(); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(progress_inboxes, one_inbox)

BOOST_AUTO_TEST_CASE(commands_are_taken_once_and_in_order) {
    BOOST_TEST(!inbox.take());
    std::vector<int> done;
    for (const int number : {1, 2, 3})
        inbox.run([&done, number] { done.push_back(number); });
    const auto taken = inbox.take();
    BOOST_REQUIRE(taken);
    for (const auto& command : taken->commands)
        command();
    BOOST_TEST(done == (std::vector{1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(!inbox.take());
}

BOOST_AUTO_TEST_CASE(nobody_is_woken_who_is_awake_and_who_sleeps_is_woken_once) {
    inbox.look();
    BOOST_TEST(!is_woken());
    BOOST_TEST(inbox.take().has_value()); // to look is all that it was asked for
    BOOST_TEST(inbox.fall_asleep());
    inbox.look();
    BOOST_TEST(is_woken());
    inbox.clear_wake_up();
    inbox.look();
    BOOST_TEST(!is_woken());
}

BOOST_AUTO_TEST_CASE(it_does_not_fall_asleep_over_what_was_asked_for_before) {
    inbox.look();
    BOOST_TEST(!inbox.fall_asleep());
    inbox.wake();
    inbox.take();
    BOOST_TEST(inbox.fall_asleep());
}

BOOST_AUTO_TEST_CASE(no_wake_up_is_lost) {
    constexpr int rounds = 20'000;
    std::atomic<int> done{0};
    std::atomic<bool> is_late{false};
    std::thread progress{[&] {
        while (done < rounds && !is_late) {
            if (const auto taken = inbox.take()) {
                for (const auto& command : taken->commands)
                    command();
                continue;
            }
            for (volatile int polls = done % 256; polls > 0;) // falls asleep now before, now after
                polls = polls - 1;
            if (inbox.fall_asleep())
                is_late = poll.wait(std::chrono::seconds{10}).empty();
            inbox.wake();
            inbox.clear_wake_up();
        }
    }};
    // Asks again as soon as the last command has run.
    for (int asked = 1; asked <= rounds && !is_late; ++asked) {
        inbox.run([&] { ++done; });
        while (done < asked && !is_late)
            std::this_thread::yield();
    }
    progress.join();
    BOOST_TEST(!is_late);
    BOOST_TEST(done == rounds);
}

BOOST_AUTO_TEST_CASE(a_descriptor_is_reported_while_it_is_ready_for_what_is_asked) {
    BOOST_TEST(inbox.fall_asleep());
    inbox.look();
    const auto ready = poll.wait(duration{});
    BOOST_REQUIRE_EQUAL(ready.size(), 1u);
    BOOST_TEST(ready[0] == wake_id);
    poll.change(inbox.descriptor(), wake_id, readiness::none);
    BOOST_TEST(!is_woken());
    poll.change(inbox.descriptor(), 7, readiness::reading_or_writing);
    BOOST_TEST(poll.wait(duration{})[0] == 7u);
    poll.forget(inbox.descriptor());
    BOOST_TEST(!is_woken());
}

BOOST_AUTO_TEST_SUITE_END()
