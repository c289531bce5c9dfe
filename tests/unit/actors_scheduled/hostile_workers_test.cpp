// A scheduler whose worker is lost, and one in its place that does not keep to the protocol: what it has not been sent it
// cannot answer, so that it is sent no more than the bound.
#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include "actors/scheduled/scheduler_actor.hpp"
#include "tests/scheduled/chain.hpp"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::uint64_t folded = 150;
constexpr std::uint32_t window = 2;

// Worker `one` has computed all phases below `folded`; then `two` takes its place, from the beginning.
struct replaced_worker : puppet_stage {
    part& leader =
        add<proto::ProgramReady, proto::WorkersReplaced, proto::ProbeDone, proto::PhasesDone>(
            "leader");
    part& one = add<proto::Phase>("one");
    part& two = add<proto::Phase>("two");
    actor_address scheduler;

    replaced_worker() {
        capnp::MallocMessageBuilder settings;
        settings.initRoot<proto::ChainSettings>().setPhases(1000000);
        scheduled::scheduler_site site;
        site.settings = settings.getRoot<capnp::AnyPointer>().asReader();
        site.memory = &memory;
        site.variables = {{0, 9}};
        scheduler = node.spawn<scheduled::scheduler_actor>(
            "scheduler",
            scheduled::scheduler_actor_options{.part = chain_program().make_scheduler(site).value(),
                                               .compute = shared_device(),
                                               .leader = leader.address,
                                               .shape = {.window = window},
                                               .stop = {}});
        frame_builder<proto::StartProgram> start;
        start.body().setIncarnation(1);
        write_address(start.body().initSchedulers(1)[0], scheduler);
        write_address(start.body().initWorkers(1)[0], one.address);
        say(leader, scheduler, std::move(start));
        begin();
        for (std::uint64_t number = 0; number < folded; ++number)
            compute(one, number);
        BOOST_TEST_REQUIRE(one.log.got.size() == folded + window + 1);
        frame_builder<proto::ReplaceWorkers> replace;
        replace.body().setIncarnation(1);
        write_address(replace.body().initWorkers(1)[0].initAddress(), two.address);
        say(leader, scheduler, std::move(replace));
        BOOST_TEST_REQUIRE(leader.log.all<proto::WorkersReplaced>().size() == 1u);
        BOOST_TEST(two.log.got.empty());
        begin();
        BOOST_TEST_REQUIRE(two.log.got.size() == scheduled::replay_ahead);
    }
    void begin() {
        frame_builder<proto::BeginPhases> message;
        message.body().setIncarnation(1);
        say(leader, scheduler, std::move(message));
    }
    void compute(part& worker, std::uint64_t number) {
        frame_builder<proto::Partial> message;
        message.body().setIncarnation(1);
        message.body().setNumber(number);
        message.body().setProbe(number % 7 == 6);
        message.attach(scheduled::payload_of(memory, std::vector<double>(3, 0.5)).value()[0]);
        say(worker, scheduler, std::move(message));
    }
    void pass(part& worker, std::uint64_t number, std::uint32_t incarnation = 1) {
        frame_builder<proto::PhasePassed> message;
        message.body().setIncarnation(incarnation);
        message.body().setNumber(number);
        say(worker, scheduler, std::move(message));
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(hostile_workers)

BOOST_FIXTURE_TEST_CASE(what_has_not_been_sent_is_not_answered, replaced_worker) {
    constexpr auto ahead = scheduled::replay_ahead;
    std::size_t refused = 0;
    for (const std::uint64_t number : {~std::uint64_t{0} - 1, ~std::uint64_t{0},
                                       std::uint64_t{1000000000}, folded, folded - 1, ahead}) {
        pass(two, number);
        BOOST_TEST(two.log.rejected.size() == ++refused, number);
        compute(two, number);
        BOOST_TEST(two.log.rejected.size() == ++refused, number);
    }
    pass(two, 0, 2); // of an incarnation that is to come
    BOOST_TEST(two.log.rejected.size() == ++refused);
    BOOST_TEST(two.log.got.size() == ahead);
    pass(two, 0);
    BOOST_TEST(two.log.got.size() == ahead + 1);
    BOOST_TEST(two.log.rejected.size() == refused);
}

BOOST_FIXTURE_TEST_CASE(others_answer_nothing_for_it, replaced_worker) {
    pass(one, 0); // it is gone, and may have sent that before
    BOOST_TEST(one.log.rejected.empty());
    pass(leader, 0);
    BOOST_TEST(leader.log.rejected.size() == 1u);
    BOOST_TEST(two.log.got.size() == scheduled::replay_ahead);
}

// A phase that has not been folded is to be computed.
BOOST_FIXTURE_TEST_CASE(phases_that_are_under_way_are_not_passed, replaced_worker) {
    for (std::uint64_t number = 0; number < folded; ++number)
        pass(two, number);
    BOOST_TEST(two.log.rejected.empty());
    BOOST_TEST(two.log.got.size() == folded + window + 1);
    pass(two, folded);
    BOOST_TEST(two.log.rejected.size() == 1u);
    compute(two, folded);
    BOOST_TEST(two.log.rejected.size() == 1u);
    BOOST_TEST(two.log.got.size() == folded + window + 2);
}

BOOST_AUTO_TEST_SUITE_END()
