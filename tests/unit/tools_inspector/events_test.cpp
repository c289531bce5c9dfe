#include <boost/test/unit_test.hpp>

#include "tools/inspector/rates.hpp"
#include "transport/frame/frame.hpp"

using namespace troupe;
using namespace troupe::inspector;

namespace {

actor_list list_at(std::int64_t now_ns, std::uint64_t handled, std::uint64_t handler_ns,
                   std::uint64_t device_ns = 0) {
    return {node_id{1},
            "a",
            now_ns,
            {{actor_number{16}, "x", 0, handled, handler_ns, device_ns, false}}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(inspector_events)

BOOST_AUTO_TEST_CASE(rates_are_differences_over_the_nodes_own_time) {
    const auto rates = rates_between(list_at(1'000'000'000, 100, 0, 1'000'000'000),
                                     list_at(3'000'000'000, 300, 500'000'000, 2'500'000'000));
    BOOST_TEST_REQUIRE(rates.size() == 1u);
    BOOST_TEST(rates[0].messages_per_second == 100.0);
    BOOST_TEST(rates[0].handler_share == 0.25);
    BOOST_TEST(rates[0].device_share == 0.75);
}

BOOST_AUTO_TEST_CASE(a_new_actor_counts_from_its_start) {
    const auto rates = rates_between({node_id{1}, "a", 0, {}}, list_at(1'000'000'000, 50, 0));
    BOOST_TEST(rates[0].messages_per_second == 50.0);
}

BOOST_AUTO_TEST_CASE(counters_and_clocks_that_run_backwards_give_no_rate) {
    BOOST_TEST(
        rates_between(list_at(0, 100, 100), list_at(1'000'000'000, 50, 0))[0].messages_per_second ==
        0.0);
    BOOST_TEST(rates_between(list_at(5, 0, 0), list_at(5, 50, 0))[0].messages_per_second == 0.0);
    BOOST_TEST(rates_between(list_at(0, 0, 0), list_at(1'000, 0, 99'999'999))[0].handler_share ==
               1.0);
}

BOOST_AUTO_TEST_CASE(the_fastest_answer_tells_the_difference_of_the_clocks) {
    const clock_probe probes[] = {
        {0, 10'000, 5'500'000}, {20'000, 20'200, 1'020'100}, {30'000, 40'000, 7'000'000}};
    const clock_offset offset = estimate_offset(probes);
    BOOST_TEST(offset.offset_ns == 1'000'000);
    BOOST_TEST(offset.error_ns == 100);
}

BOOST_AUTO_TEST_CASE(clocks_that_may_agree_are_taken_to_agree) {
    const clock_probe probes[] = {{1'000'000, 1'100'000, 1'010'000}};
    BOOST_TEST(estimate_offset(probes).offset_ns == 0);
}

BOOST_AUTO_TEST_CASE(more_than_the_protocol_allows_is_an_error) {
    frame_builder<proto::TraceBatch> events;
    events.body().initEvents(4097);
    BOOST_TEST(!decode(events.body().asReader()).ok());
    frame_builder<proto::TraceBatch> labels;
    labels.body().initLabels(5000);
    BOOST_TEST(!decode(labels.body().asReader()).ok());
    frame_builder<proto::ActorList> actors;
    actors.body().initActors(70'000);
    BOOST_TEST(!decode(actors.body().asReader()).ok());
    frame_builder<proto::ActorList> facts;
    facts.body().initActors(1)[0].initFacts(fact_board::facts_max + 1);
    BOOST_TEST(!decode(facts.body().asReader()).ok());
    frame_builder<proto::ActorList> milestones;
    milestones.body().initActors(1)[0].initMilestones(milestone_board::milestones_max + 1);
    BOOST_TEST(!decode(milestones.body().asReader()).ok());
    frame_builder<proto::ActorList> numbers;
    numbers.body().initActors(1)[0].initMilestones(1)[0].initNumbers(milestone_board::numbers_max +
                                                                     1);
    BOOST_TEST(!decode(numbers.body().asReader()).ok());
    frame_builder<proto::ActorList> workers;
    workers.body().initActors(1)[0].initWorkers(listed_workers_max + 1);
    BOOST_TEST(!decode(workers.body().asReader()).ok());
    frame_builder<proto::ActorList> links;
    links.body().initLinks(1)[0].setOver("a\x1b[2J");
    BOOST_TEST(!decode(links.body().asReader()).ok());
}

BOOST_AUTO_TEST_CASE(names_are_cut_and_unknown_ones_are_numbers) {
    frame_builder<proto::ActorList> list;
    auto actors = list.body().initActors(1);
    actors[0].setNumber(16);
    actors[0].setName(std::string(100'000, 'x'));
    auto fact = actors[0].initFacts(1)[0];
    fact.setName(std::string(100'000, 'n'));
    fact.setText(std::string(100'000, 't'));
    auto milestone = actors[0].initMilestones(1)[0];
    milestone.setSinceStartNs(~std::uint64_t{0});
    milestone.initNumbers(1)[0].setName(std::string(100'000, 'm'));
    const auto decoded = decode(list.body().asReader());
    BOOST_TEST_REQUIRE(decoded.ok());
    BOOST_TEST(decoded->actors[0].name.size() == limits::name_bytes_max);
    BOOST_TEST(decoded->actors[0].facts.at(0).name.size() == fact_board::name_bytes_max);
    BOOST_TEST(decoded->actors[0].facts.at(0).text.size() == fact_board::text_bytes_max);

    const auto& reached = decoded->actors[0].milestones.at(0);
    BOOST_TEST(reached.numbers.at(0).name.size() == milestone_board::name_bytes_max);
    BOOST_TEST(reached.since_start.count() > 0);

    all_names names;
    names[node_id{1}].name = "a";
    BOOST_TEST(name_of(names, node_id{1}, actor_number{17}) == "a/actor 17");
    BOOST_TEST(name_of(names, node_id{1}, actor_number{0}) == "a/nobody");
    BOOST_TEST(name_of(names, node_id{0xabc}, actor_number{17}) == "node 0xabc/actor 17");
    trace_event e;
    e.type = 0x1f3a;
    BOOST_TEST(names[node_id{1}].type_of(e) == "type 0x1f3a");
    e.kind = trace_kind::compute;
    BOOST_TEST(names[node_id{1}].type_of(e) == "work 7994");
}

BOOST_AUTO_TEST_SUITE_END()
