// The neighbours that a trainer names for a stage.
#include <boost/test/unit_test.hpp>

#include "actors/messages.hpp"
#include "actors/pipeline/stage/stage_neighbours.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr node_id own_node{1}, other_node{2};

actor_address number(std::uint64_t actor, node_id node = own_node) {
    return {node, actor_number{actor}};
}

stage_options stage_of(std::uint32_t stage, std::uint32_t stages) {
    stage_options options;
    options.at.place = {stage, stages};
    options.at.replica = {1, 2};
    model_builder model{3};
    model.linear(2);
    options.program =
        std::make_shared<const stage_program>(stage_program::whole(model.build()).value());
    return options;
}

frame_builder<proto::ConnectStage> between(const std::vector<actor_address>& previous,
                                           const std::vector<actor_address>& next) {
    frame_builder<proto::ConnectStage> b;
    auto before = b.body().initPrevious(static_cast<unsigned>(previous.size()));
    for (unsigned r = 0; r < before.size(); ++r)
        write_address(before[r], previous[r]);
    auto after = b.body().initNext(static_cast<unsigned>(next.size()));
    for (unsigned r = 0; r < after.size(); ++r)
        write_address(after[r], next[r]);
    write_address(b.body().initSource(), number(9));
    return b;
}

std::string refusal(const stage_options& own, proto::ConnectStage::Reader body) {
    const auto named = neighbours_of(own, body, own_node);
    return named ? "" : named.failure().message();
}

} // namespace

BOOST_AUTO_TEST_SUITE(neighbours_of_stages)

BOOST_AUTO_TEST_CASE(every_stage_but_the_last_has_a_next_one_and_every_one_a_previous_one) {
    auto middle = between({number(10)}, {number(20)});
    auto last = between({number(10)}, {});
    auto alone = between({}, {});
    const auto named = neighbours_of(stage_of(1, 3), middle.body(), own_node);
    BOOST_TEST_REQUIRE(bool(named));
    BOOST_TEST((named->previous == std::vector{number(10)}));
    BOOST_TEST((named->next == std::vector{number(20)}));
    BOOST_TEST((named->source == number(9)));
    BOOST_TEST((named->first_previous() == number(10)));
    BOOST_TEST(named->has(number(20)));
    BOOST_TEST(!named->has(number(9)));
    BOOST_TEST(bool(neighbours_of(stage_of(2, 3), last.body(), own_node)));
    const std::string missing = "the neighbours of this stage are not there";
    BOOST_TEST(refusal(stage_of(2, 3), middle.body()) == missing);
    BOOST_TEST(refusal(stage_of(1, 3), last.body()) == missing);
    BOOST_TEST(refusal(stage_of(0, 1), alone.body()) == missing);
}

BOOST_AUTO_TEST_CASE(tensors_stay_on_the_device_for_a_stage_of_the_same_node_alone) {
    auto connect = between({number(10)}, {number(20, other_node)});
    connect.body().setPreviousIsColocated(true);
    const auto named = neighbours_of(stage_of(1, 3), connect.body(), own_node);
    BOOST_TEST_REQUIRE(bool(named));
    BOOST_TEST((named->routes.to_previous == tensor_route::colocated));
    BOOST_TEST((named->routes.to_next == tensor_route::by_host));
    connect.body().setNextIsColocated(true);
    BOOST_TEST(refusal(stage_of(1, 3), connect.body()) ==
               "a stage of another node is not on this stage's device");
}

BOOST_AUTO_TEST_CASE(tensors_are_rounded_between_stages_but_not_from_the_data_source) {
    auto connect = between({number(10)}, {number(20)});
    stage_options first = stage_of(0, 2);
    first.activations = *make_number_form(proto::NumberForm::BF16);
    const auto named = neighbours_of(first, connect.body(), own_node);
    BOOST_TEST_REQUIRE(bool(named));
    BOOST_TEST(!named->routes.from_previous);
    BOOST_TEST(bool(named->routes.from_next));
}

BOOST_AUTO_TEST_CASE(a_neighbour_is_of_the_same_replica_unless_stages_differ_in_them) {
    pipeline_place own = stage_of(1, 3).at;
    stage_neighbours neighbours;
    neighbours.previous = {number(10), number(11)};
    neighbours.next = {number(20)};
    BOOST_TEST(neighbours.place_of(number(20), own)->stage == 2u);
    BOOST_TEST(neighbours.place_of(number(20), own)->replica == 1u);
    own.place.stages_differ = true;
    BOOST_TEST(neighbours.place_of(number(20), own)->replica == 0u);
    BOOST_TEST(neighbours.place_of(number(11), own)->stage == 0u);
    BOOST_TEST(neighbours.place_of(number(11), own)->replica == 1u);
    BOOST_TEST(!neighbours.place_of(number(77), own));
    BOOST_TEST(!neighbours.place_of(number(10), stage_of(0, 3).at)); // the data source
}

BOOST_AUTO_TEST_SUITE_END()
