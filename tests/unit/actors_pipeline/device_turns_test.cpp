// Who of several stages on one device has the turn.
#include <boost/test/unit_test.hpp>

#include "actors/pipeline/stage/device_turns.hpp"
#include "schemas/pipeline.capnp.h"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct two_stages : puppet_stage {
    device_turns turns;
    part& first = add<proto::TurnCame>("first");
    part& second = add<proto::TurnCame>("second");

    void announce(std::uint32_t stage, const device_turns::pass& next) {
        act(stage == 0 ? first : second,
            [this, stage, next](puppet& self) { turns.announce(stage, next, self.self_handle()); });
    }
    std::size_t told(const part& p) const { return p.log.all<proto::TurnCame>().size(); }
};

} // namespace

BOOST_AUTO_TEST_SUITE(turns_on_a_device)

BOOST_AUTO_TEST_CASE(the_stage_with_the_earliest_pass_has_the_turn_and_is_told_when_it_comes) {
    two_stages on;
    on.announce(0, {0, 0, 0});
    on.announce(1, {0, 0, 2});
    BOOST_TEST(on.turns.has_turn(0));
    BOOST_TEST(!on.turns.has_turn(1));
    BOOST_TEST(on.told(on.second) == 0u);
    on.announce(0, {0, 1, 0}); // in the body, behind all of the warm-up
    BOOST_TEST(on.turns.has_turn(1));
    BOOST_TEST(on.told(on.second) == 1u);
    on.announce(1, {0, 1, 3});
    BOOST_TEST(on.turns.has_turn(0));
    on.announce(0, {0, 2, 0}); // of the next minibatch
    BOOST_TEST(on.turns.has_turn(1));
}

BOOST_AUTO_TEST_CASE(a_stage_that_ends_gives_its_turn_away) {
    two_stages on;
    on.announce(0, {0, 0, 0});
    on.announce(1, {5, 0, 2});
    on.turns.leave(0);
    on.settle();
    BOOST_TEST(on.turns.has_turn(1));
    BOOST_TEST(on.told(on.second) == 1u);
}

BOOST_AUTO_TEST_CASE(a_stage_whose_epoch_has_not_begun_is_not_overtaken) {
    two_stages on;
    on.announce(0, {1, 1, 0});
    on.announce(1, {0, 9, 7}); // has still to end the epoch before
    BOOST_TEST(!on.turns.has_turn(0));
    on.announce(1, {1, 0, 5});
    BOOST_TEST(!on.turns.has_turn(0)); // its first pass is in the warm-up
    on.announce(1, {1, 1, 5});
    BOOST_TEST(on.turns.has_turn(0));
}

BOOST_AUTO_TEST_SUITE_END()
