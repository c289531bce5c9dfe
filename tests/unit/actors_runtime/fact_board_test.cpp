#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <thread>

#include "actors/runtime/fact_board.hpp"

using namespace troupe;

namespace {

std::string text_of(const fact_board& board, std::string_view name) {
    for (const fact_board::fact& f : board.facts())
        if (f.name == name)
            return f.text;
    return "(none)";
}

} // namespace

BOOST_AUTO_TEST_SUITE(fact_boards)

BOOST_AUTO_TEST_CASE(facts_stand_in_the_order_in_which_they_were_first_set) {
    fact_board board;
    BOOST_TEST(board.facts().empty());
    board.set({{"phase", "1"}, {"applied", "0"}});
    board.set("waits", "");
    board.set({{"waits", "for phase 2"}, {"phase", "2"}});
    const auto facts = board.facts();
    BOOST_REQUIRE_EQUAL(facts.size(), 3u);
    BOOST_TEST(facts[0].name == "phase");
    BOOST_TEST(facts[0].text == "2");
    BOOST_TEST(facts[1].name == "applied");
    BOOST_TEST(facts[1].text == "0");
    BOOST_TEST(facts[2].name == "waits");
    BOOST_TEST(facts[2].text == "for phase 2");
}

BOOST_AUTO_TEST_CASE(further_facts_are_left_out_and_the_first_ones_still_change) {
    fact_board board;
    for (int i = 0; i < 40; ++i)
        board.set("fact " + std::to_string(i), "old");
    board.set("fact 0", "new");
    BOOST_TEST(board.facts().size() == fact_board::facts_max);
    BOOST_TEST(text_of(board, "fact 0") == "new");
    BOOST_TEST(text_of(board, "fact 39") == "(none)");
}

BOOST_AUTO_TEST_CASE(long_text_is_cut_after_a_whole_character) {
    fact_board board;
    const std::string fits(fact_board::text_bytes_max, 'x');
    board.set("a", fits);
    BOOST_TEST(text_of(board, "a") == fits);
    board.set("a", fits + "y");
    BOOST_TEST(text_of(board, "a") == fits.substr(0, fits.size() - 3) + "...");
    std::string wide = "x";
    while (wide.size() <= fact_board::text_bytes_max)
        wide += "\u00e9";
    board.set("a", wide);
    BOOST_TEST(text_of(board, "a") == wide.substr(0, fact_board::text_bytes_max - 3) + "...");
    board.set("a", "x" + wide);
    BOOST_TEST(text_of(board, "a") == "x" + wide.substr(0, fact_board::text_bytes_max - 5) + "...");
    board.set("a", "");
    BOOST_TEST(text_of(board, "a") == "");
    board.set(std::string(1000, 'n'), "1");
    board.set(std::string(1001, 'n'), "2"); // cut to the same name
    BOOST_TEST(text_of(board, std::string(fact_board::name_bytes_max, 'n')) == "2");
}

BOOST_AUTO_TEST_CASE(a_reader_sees_all_of_what_is_set_at_once_or_nothing) {
    fact_board board;
    board.set({{"a", "0"}, {"b", "0"}});
    std::thread writer{[&] {
        for (int i = 0; i < 20'000; ++i) {
            const std::string text = std::to_string(i);
            board.set({{"a", text}, {"b", text}});
        }
    }};
    for (int i = 0; i < 2'000; ++i) {
        const auto facts = board.facts();
        if (facts[0].text != facts[1].text)
            BOOST_ERROR(facts[0].text + " beside " + facts[1].text);
    }
    writer.join();
}

BOOST_AUTO_TEST_SUITE_END()
