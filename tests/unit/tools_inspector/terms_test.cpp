#include <boost/test/unit_test.hpp>

#include "tools/inspector/inspect.hpp"
#include "tools/inspector/terms.hpp"

using namespace troupe;
using namespace troupe::inspector;

namespace {

using words = std::vector<std::string>;

std::string problem_of(const words& view) {
    inspect_options options;
    const auto parsed = parse_view(view, options);
    BOOST_TEST_REQUIRE(!parsed.ok());
    BOOST_TEST((parsed.failure().code() == errc::usage));
    return parsed.failure().message();
}

} // namespace

BOOST_AUTO_TEST_SUITE(inspector_terms)

BOOST_AUTO_TEST_CASE(without_words_the_actors_are_shown) {
    inspect_options options;
    BOOST_TEST(parse_view(words{}, options).ok());
    BOOST_TEST((options.view == view_kind::actors));
}

BOOST_AUTO_TEST_CASE(conditions_of_a_tail_are_told_apart) {
    const auto terms = parse_tail_terms(
        words{"type=Activation", "actor=stage-0", "minibatch=42", "member.name=a=b", "run=0x1f3a"});
    BOOST_TEST_REQUIRE(terms.ok());
    BOOST_TEST(terms->run == 0x1f3au);
    BOOST_TEST(terms->type == "Activation");
    BOOST_TEST(terms->actor == "stage-0");
    BOOST_TEST(terms->minibatch == 42u);
    BOOST_TEST_REQUIRE(terms->fields.size() == 1u);
    BOOST_TEST(terms->fields[0].first == "member.name");
    BOOST_TEST(terms->fields[0].second == "a=b");
}

BOOST_AUTO_TEST_CASE(actors_are_named_as_they_are_printed) {
    const auto terms = parse_tail_terms(words{"actor=a/stage-0", "from=b/stage-1", "body.node=7"});
    BOOST_TEST_REQUIRE(terms.ok());
    BOOST_TEST(terms->node == "a");
    BOOST_TEST(terms->actor == "stage-0");
    BOOST_TEST(terms->from == "b/stage-1");
    BOOST_TEST(terms->fields.at(0).first == "node");
    all_names names;
    names[node_id{1}] = {.name = "a", .actors = {{actor_number{30}, "stage-0"}}};
    names[node_id{2}] = {.name = "b",
                         .actors = {{actor_number{30}, "stage-1"}, {actor_number{31}, "stage-0"}}};
    const actor_address here{node_id{1}, actor_number{30}};
    const actor_address there{node_id{2}, actor_number{30}};
    BOOST_TEST((actors_named("a/stage-0", names) == std::vector{here}));
    BOOST_TEST((actors_named("stage-1", names) == std::vector{there}));
    BOOST_TEST((actors_named("30", names) == std::vector{here, there}));
    BOOST_TEST(actors_named("stage-0", names).size() == 2u);
    BOOST_TEST(actors_named("stage", names).empty());
}

BOOST_AUTO_TEST_CASE(actors_of_a_run_are_named_with_it_or_without) {
    const auto actor_of = [](std::string word) { return parse_tail_terms(words{word})->actor; };
    const auto node_of = [](std::string word) { return parse_tail_terms(words{word})->node; };
    BOOST_TEST(node_of("actor=5c6879d3/stage-0") == "");
    BOOST_TEST(actor_of("actor=5c6879d3/stage-0") == "5c6879d3/stage-0");
    BOOST_TEST(actor_of("actor=0x5C6879D3/stage-0") == "5c6879d3/stage-0");
    BOOST_TEST(actor_of("actor=a/0x7/stage-0") == "00000007/stage-0");
    BOOST_TEST(parse_tail_terms(words{"from=a/0x7/stage-0"})->from == "a/00000007/stage-0");
    BOOST_TEST(node_of("actor=a/5c6879d3/stage-0") == "a");
    BOOST_TEST(actor_of("actor=a/5c6879d3/stage-0") == "5c6879d3/stage-0");
    all_names names;
    names[node_id{1}] = {
        .name = "a",
        .actors = {{actor_number{30}, "5c6879d3/stage-0"}, {actor_number{31}, "00000007/stage-0"}}};
    const actor_address first{node_id{1}, actor_number{30}};
    BOOST_TEST((actors_named("5c6879d3/stage-0", names) == std::vector{first}));
    BOOST_TEST((actors_named("a/5c6879d3/stage-0", names) == std::vector{first}));
    BOOST_TEST(actors_named("stage-0", names).size() == 2u);
    BOOST_TEST(actors_named("a/stage-0", names).size() == 2u);
    BOOST_TEST(parse_tail_terms(words{"run=5c6879d3"})->run == 0x5c6879d3u);
    BOOST_TEST(parse_tail_terms(words{"run=0x5c6879d3"})->run == 0x5c6879d3u);
}

BOOST_AUTO_TEST_CASE(no_conditions_let_everything_pass) {
    const auto terms = parse_tail_terms(words{});
    BOOST_TEST_REQUIRE(terms.ok());
    BOOST_TEST(terms->type.empty());
    BOOST_TEST(terms->minibatch == none);
}

BOOST_AUTO_TEST_CASE(a_minibatch_to_follow_is_a_number_or_next) {
    BOOST_TEST(parse_follow_terms(words{"minibatch=42"})->number.value() == 42u);
    BOOST_TEST(!parse_follow_terms(words{"minibatch=next"})->number.has_value());
    const auto work = parse_follow_terms(words{"work=7", "run=5c6879d3"});
    BOOST_TEST_REQUIRE(work.ok());
    BOOST_TEST(!work->is_minibatch);
    BOOST_TEST(work->number.value() == 7u);
    const auto phase = parse_follow_terms(words{"phase=8"});
    BOOST_TEST_REQUIRE(phase.ok());
    BOOST_TEST(!phase->is_minibatch);
    BOOST_TEST(phase->number.value() == 8u);
    BOOST_TEST(parse_tail_terms(words{"phase=9"})->minibatch == 9u);
    BOOST_TEST(work->run == 0x5c6879d3u);
    for (const words& wrong : {words{}, words{"run=5c6879d3"}, words{"work=7", "minibatch=7"},
                               words{"work=7", "run=0x1", "run=0x1"}, words{"work=x"},
                               words{"work=7", "run=x"}, words{"work=7", "actor=a"}})
        BOOST_TEST(!parse_follow_terms(wrong).ok());
}

BOOST_AUTO_TEST_CASE(a_schedule_is_of_one_run_or_of_all) {
    BOOST_TEST(parse_run_terms("schedule", words{}).value() == 0u);
    BOOST_TEST(parse_run_terms("schedule", words{"run=5c6879d3"}).value() == 0x5c6879d3u);
    BOOST_TEST(parse_run_terms("schedule", words{"run=0x7"}).value() == 7u);
}

BOOST_AUTO_TEST_CASE(words_that_make_no_sense_are_answered_by_a_sentence) {
    BOOST_TEST(problem_of({"tial"}) ==
               "there is no view 'tial'; the views are actors, staleness, schedule, results, tail, "
               "follow and export");
    BOOST_TEST(problem_of({"tail", "Activation"}) ==
               "'Activation' is no condition; write FIELD=VALUE, as in type=Activation");
    BOOST_TEST(problem_of({"tail", "run=0"}) ==
               "run=0 is no run; they stand before the names in the view actors, as 5c6879d3");
    BOOST_TEST(problem_of({"tail", "run=0x1f3a", "run=0x7"}) ==
               "run= is given twice; a message has only one");
    BOOST_TEST(problem_of({"tail", "minibatch=-1"}) ==
               "minibatch=-1 is no minibatch; they are numbers from 0");
    BOOST_TEST(problem_of({"tail", "minibatch=18446744073709551615"})
                   .ends_with("they are numbers from 0"));
    BOOST_TEST(problem_of({"tail", "type=A", "type=B"}) ==
               "type= is given twice; a message has only one");
    BOOST_TEST(problem_of({"tail", "node=a", "actor=b/stage-0"}) ==
               "actor=b/stage-0 is not on node a");
    BOOST_TEST(problem_of({"tail", "actor=5c6879d3/stage-0", "run=0x7"}) ==
               "5c6879d3/stage-0 is no actor of run 00000007");
    BOOST_TEST(problem_of({"tail", "from=b/5c6879d3/stage-0", "run=0x7"}) ==
               "b/5c6879d3/stage-0 is no actor of run 00000007");
    for (const std::string actor : {"b/", "/stage-0"})
        BOOST_TEST(problem_of({"tail", "actor=" + actor}) ==
                   "actor=" + actor + " names no actor; write NODE/NAME or RUN/NAME");
    BOOST_TEST(problem_of({"tail", "type="}) == "type= needs a value");
    BOOST_TEST(problem_of({"tail", "x=" + std::string(2000, 'a')}) ==
               "a condition is longer than 1024 bytes");
    BOOST_TEST(problem_of({"follow"}).starts_with("follow needs a minibatch"));
    BOOST_TEST(problem_of({"follow", "minibatch=x"}) ==
               "minibatch=x is no minibatch; they are numbers from 0, or next");
    BOOST_TEST(problem_of({"follow", "phase=x"}) ==
               "phase=x is no phase; they are numbers from 0, or next");
    BOOST_TEST(problem_of({"follow", "phase=1", "work=1"})
                   .starts_with("follow takes one of minibatch=, phase= and work="));
    BOOST_TEST(problem_of({"export"}).starts_with("export needs the name of one file"));
    BOOST_TEST(problem_of({"actors", "x"}) == "the view actors takes no further words, not 'x'");
    BOOST_TEST(problem_of({"schedule", "x"}) ==
               "schedule takes one run=, and nothing else, not 'x'");
    BOOST_TEST(problem_of({"schedule", "run=x"}).starts_with("run=x is no run"));
    BOOST_TEST(problem_of({"schedule", "run=0x1", "run=0x2"}).ends_with("not 'run=0x2'"));
    words many{"tail"};
    for (int i = 0; i < 17; ++i)
        many.push_back("a=1");
    BOOST_TEST(problem_of(many) == "at most 16 fields can be looked at");
}

BOOST_AUTO_TEST_CASE(a_switch_of_another_view_is_refused) {
    const auto refused = [](inspect_options options, const words& view) {
        return !parse_view(view, options).ok();
    };
    BOOST_TEST(refused({.watch = true}, {"tail"}));
    BOOST_TEST(refused({.count = 3}, {}));
    BOOST_TEST(refused({.seconds = std::chrono::seconds{1}}, {"follow", "minibatch=next"}));
    BOOST_TEST(!refused({.watch = true}, {}));
    BOOST_TEST(!refused({.watch = true}, {"schedule", "run=5c6879d3"}));
    BOOST_TEST(!refused({.count = 3}, {"tail"}));
    BOOST_TEST(!refused({.seconds = std::chrono::seconds{1}}, {"export", "a.json"}));
}

BOOST_AUTO_TEST_SUITE_END()
