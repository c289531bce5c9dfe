#include <boost/test/unit_test.hpp>

#include <atomic>
#include <thread>

#include "actors/runtime/trace.hpp"
#include "actors/runtime/well_known.hpp"

using namespace troupe;

namespace {

trace_event numbered(std::uint64_t number) {
    return {.type = number,
            .sequence = number,
            .bytes = ~number,
            .ended_ns = static_cast<std::int64_t>(number)};
}

bool whole(const trace_event& e) {
    return e == numbered(e.sequence);
}

} // namespace

BOOST_AUTO_TEST_SUITE(trace)

BOOST_AUTO_TEST_CASE(what_is_recorded_is_read_in_order_by_any_number_of_readers) {
    trace_ring ring{16};
    for (std::uint64_t i = 0; i < 10; ++i)
        ring.record(numbered(i));
    for (int reader = 0; reader < 2; ++reader) {
        const trace_batch first = ring.read(0, 4);
        BOOST_TEST(first.events.size() == 4u);
        BOOST_TEST(first.next == 4u);
        const trace_batch rest = ring.read(first.next, 100);
        BOOST_TEST(rest.events.size() == 6u);
        BOOST_TEST(rest.events.back().sequence == 9u);
        BOOST_TEST(rest.lost == 0u);
        BOOST_TEST(ring.read(rest.next, 100).events.empty());
    }
}

BOOST_AUTO_TEST_CASE(a_slow_reader_is_told_how_many_events_it_lost) {
    trace_ring ring{16};
    for (std::uint64_t i = 0; i < 100; ++i)
        ring.record(numbered(i));
    const trace_batch batch = ring.read(10, 1000);
    BOOST_TEST(batch.lost == 74u); // 10..83
    BOOST_REQUIRE_EQUAL(batch.events.size(), 16u);
    BOOST_TEST(batch.events.front().sequence == 84u);
    BOOST_TEST(batch.next == 100u);
}

BOOST_AUTO_TEST_CASE(a_cursor_beyond_the_end_reads_nothing) {
    trace_ring ring{16};
    ring.record(numbered(0));
    const trace_batch batch = ring.read(~0ull, 10);
    BOOST_TEST(batch.events.empty());
    BOOST_TEST(batch.next == 1u);
}

BOOST_AUTO_TEST_CASE(every_event_is_read_whole_or_counted_while_threads_write) {
    constexpr std::uint64_t writers = 3, each = 20000;
    trace_ring ring{256};
    std::atomic<std::uint64_t> running{writers};
    std::vector<std::thread> threads;
    for (std::uint64_t w = 0; w < writers; ++w)
        threads.emplace_back([&, w] {
            for (std::uint64_t i = 0; i < each; ++i)
                ring.record(numbered(w * each + i));
            --running;
        });
    std::uint64_t cursor = 0, seen = 0, lost = 0, torn = 0;
    const auto read = [&] {
        const trace_batch batch = ring.read(cursor, 64);
        for (const trace_event& e : batch.events)
            torn += whole(e) ? 0 : 1;
        seen += batch.events.size();
        lost += batch.lost;
        cursor = batch.next;
    };
    while (running > 0)
        read();
    for (std::thread& t : threads)
        t.join();
    for (std::uint64_t i = 0; i < 256; ++i) // a turn more, so that what went missing is known to be
        ring.record(numbered(writers * each + i));
    for (int i = 0; i < 10; ++i)
        read();
    BOOST_TEST(torn == 0u);
    BOOST_TEST(seen + lost == writers * each + 256);
    BOOST_TEST(seen > 0u);
}

BOOST_AUTO_TEST_CASE(a_label_keeps_its_number) {
    trace_ring ring{16};
    const std::uint64_t forward = ring.label("forward");
    BOOST_TEST(ring.label("backward") != forward);
    BOOST_TEST(ring.label("forward") == forward);
    BOOST_TEST(ring.labels().at(forward) == "forward");
    for (std::size_t i = 0; i < 2 * trace_ring::labels_max; ++i)
        ring.label(std::to_string(i));
    BOOST_TEST(ring.labels().size() == trace_ring::labels_max);
    BOOST_TEST(ring.label("one too many") == 0u);
}

BOOST_AUTO_TEST_CASE(names_of_the_latest_actors_and_of_well_known_ones_are_kept) {
    trace_ring ring{16};
    ring.name_actor(well_known::cluster, "cluster");
    for (std::uint64_t n = 0; n < trace_ring::actors_max; ++n)
        ring.name_actor(actor_number{well_known::first_free.value() + n}, "stage");
    const auto names = ring.actor_names();
    BOOST_TEST(names.size() == trace_ring::actors_max);
    BOOST_TEST(names.at(well_known::cluster) == "cluster");
    BOOST_TEST(!names.contains(well_known::first_free));
}

BOOST_AUTO_TEST_SUITE_END()
