// Sentences on writes that fail, and when the last one is tried again.
#include <boost/test/unit_test.hpp>

#include "actors/run/unwritten.hpp"

using namespace troupe;
using namespace std::chrono_literals;

namespace {

const error full{errc::io, "FILE: cannot be written: No space left on device; free some space"};

} // namespace

BOOST_AUTO_TEST_SUITE(unwritten_files)

BOOST_AUTO_TEST_CASE(a_disk_that_stays_full_is_told_ever_more_seldom) {
    unwritten disk;
    std::vector<int> told;
    for (int n = 1; n <= 100; ++n)
        if (disk.fail())
            told.push_back(n);
    BOOST_TEST(told == (std::vector<int>{1, 2, 4, 8, 16, 32, 64}),
               boost::test_tools::per_element());
    BOOST_TEST(disk.succeed() == 100u);
    BOOST_TEST(disk.succeed() == 0u);
    BOOST_TEST(disk.fail());
}

BOOST_AUTO_TEST_CASE(what_a_run_ends_with_is_tried_again_for_a_day) {
    unwritten disk;
    disk.fail();
    disk.fail();
    BOOST_TEST(!disk.is_kept());
    duration waited{};
    std::vector<duration> waits;
    while (const auto wait = disk.keep(full)) {
        waits.push_back(*wait);
        waited += *wait;
        if (waits.size() == 1)
            BOOST_TEST(disk.fail(), "what failed while the run went on does not count");
        BOOST_REQUIRE(waits.size() < 10000u);
    }
    BOOST_TEST(disk.is_kept());
    BOOST_TEST(disk.reason() == full.message());
    BOOST_TEST((waits[0] == 1s && waits[1] == 2s && waits[5] == 32s && waits[6] == 60s &&
                waits.back() == 60s));
    BOOST_TEST((waited > 23h + 58min && waited <= 24h));
}

BOOST_AUTO_TEST_CASE(sentences_name_the_file_the_reason_and_what_is_left) {
    BOOST_TEST(goes_on_unwritten("a checkpoint", full, next_is_tried("saved/epoch-0002")) ==
               "a checkpoint is not written: " + full.message() +
                   "; the run goes on, the last good one is saved/epoch-0002, and the next one is "
                   "tried when it is due");
    BOOST_TEST(next_is_tried("") == "none is saved yet, and the next one is tried when it is due");
    BOOST_TEST(kept_unwritten("the result", full)
                   .starts_with(
                       "the result cannot be written: " + full.message() +
                       "; the run is over, keeps it in memory and writes it once that is mended"));
    const error given_up = given_up_unwritten("the result", full, "; X is saved");
    BOOST_TEST((given_up.code() == errc::io));
    BOOST_TEST(given_up.message() == "the result could not be written, and is given up: " +
                                         full.message() + "; X is saved");
    const error stopped = stopped_unwritten("the result", "FILE: full", "");
    BOOST_TEST((stopped.code() == errc::cancelled));
    BOOST_TEST(stopped.message() == "stopped while the result could not be written: FILE: full");
}

BOOST_AUTO_TEST_SUITE_END()
