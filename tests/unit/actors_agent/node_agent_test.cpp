// What an agent does with the requests of askers, with roles that are none of a family's.
#include <boost/test/unit_test.hpp>

#include "actors/agent/node_agent.hpp"
#include "actors/runtime/actor_names.hpp"
#include "schemas/base/limits.hpp"
#include "tests/support/held_device.hpp"
#include "tests/support/puppet.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// Has an agent with the roles "puppet", whose options are a Probe and whose number is never 13, "deaf", which takes no
// options, and "slow", which a device must work for first, as long as a test likes, in vain for number 14; and two askers.
struct agent_stage : puppet_stage {
    puppet_log of_puppets; // of all of them
    std::vector<std::shared_ptr<int>> shared;
    std::vector<std::string> devices; // that puppets were spawned on
    std::vector<std::string> said;
    const std::shared_ptr<held_device> held = std::make_shared<held_device>();
    std::vector<std::uint64_t> worked_for; // the numbers that were read of the options then
    actor_address agent;
    part& asker;
    part& other;

    agent_stage()
        : agent{node.spawn_as<node_agent>(
              well_known::agent, "agent",
              node_agent_options{.roles = {puppet_role(), deaf_role(), slow_role()},
                                 .devices = {shared_device()},
                                 .log = [this](const std::string& s) { said.push_back(s); }})},
          asker{add<proto::Spawned, proto::SpawnFailed, proto::HereIAm>("asker")},
          other{add<proto::Spawned, proto::SpawnFailed>("other")} {}

    role puppet_role() {
        role r{.name = "puppet", .options_type = type_id_of<proto::Probe>()};
        r.prepare = [this](capnp::AnyPointer::Reader options,
                           const role_resources& on) -> result<prepared_actor> {
            if (options.getAs<proto::Probe>().getNumber() == 13)
                return error{errc::usage, "13 is no puppet's number"};
            BOOST_TEST((on.asker == asker.address || on.asker == other.address));
            devices.push_back(on.compute->name());
            shared.push_back(on.shared.of<int>(options.getAs<proto::Probe>().getHops()));
            return prepared<puppet_of<>>(
                on, "puppet-" + std::to_string(options.getAs<proto::Probe>().getNumber()),
                std::ref(of_puppets));
        };
        return r;
    }
    static role deaf_role() {
        return {"deaf", type_id_of<proto::WorkDone>(),
                [](capnp::AnyPointer::Reader, const role_resources&) -> result<prepared_actor> {
                    return error{errc::usage, "a deaf role fits no device"};
                }};
    }

    role slow_role() {
        role r{.name = "slow", .options_type = type_id_of<proto::Probe>()};
        r.prepare = [this](capnp::AnyPointer::Reader options,
                           const role_resources& on) -> result<prepared_actor> {
            prepared_actor made = prepared<puppet_of<>>(
                on, "puppet-" + std::to_string(options.getAs<proto::Probe>().getNumber()),
                std::ref(of_puppets));
            made.worked_on_by = held;
            made.work = [this, options]() -> result<void> {
                worked_for.push_back(options.getAs<proto::Probe>().getNumber());
                if (worked_for.back() == 14)
                    return error{errc::numeric, "14 comes to nothing"};
                return {};
            };
            return made;
        };
        return r;
    }
    void ask_slow(part& by, std::uint64_t run, std::uint64_t number) {
        frame_builder<proto::Spawn> spawn = request(run, number);
        spawn.body().setRole("slow");
        ask(by, std::move(spawn));
    }
    void work() {
        (void)held->work();
        settle();
    }

    static frame_builder<proto::Spawn> request(std::uint64_t run, std::uint64_t number,
                                               std::uint32_t shares = 0) {
        frame_builder<proto::Spawn> spawn;
        spawn.body().setRun(run);
        spawn.body().setRequest(number);
        spawn.body().setRole("puppet");
        spawn.body().setDevice("sim:0");
        spawn.body().setOptionsType(type_id_of<proto::Probe>());
        auto options = spawn.body().getOptions().initAs<proto::Probe>();
        options.setNumber(number);
        options.setHops(shares);
        return spawn;
    }
    void ask(part& by, frame_builder<proto::Spawn> spawn) { say(by, agent, std::move(spawn)); }

    // What the asker was told last: its sentence, or none where the actor is there.
    std::string answer(const part& by) const {
        const frame& last = *by.log.got.back();
        return last.body_type() == type_id_of<proto::Spawned>()
                   ? std::string{}
                   : read_failure(last.body<proto::SpawnFailed>().getFailure()).message();
    }
    std::size_t puppets() const { // that live
        return static_cast<std::size_t>(
            std::ranges::count_if(node.actors(), [](const actor_status& a) {
                return role_part(a.name).starts_with("puppet-");
            }));
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(node_agents)

BOOST_FIXTURE_TEST_CASE(an_actor_is_spawned_by_its_role_and_its_address_told, agent_stage) {
    ask(asker, request(7, 5));
    BOOST_REQUIRE(asker.log.got.size() == 1u);
    const auto there = asker.log.got[0]->body<proto::Spawned>();
    BOOST_TEST(there.getRun() == 7u);
    BOOST_TEST(there.getRequest() == 5u);
    BOOST_TEST((read_address(there.getAddress()) == *node.address_of("puppet-5")));
    BOOST_TEST(devices == std::vector<std::string>{"sim:0"}, boost::test_tools::per_element());
    BOOST_TEST(said == std::vector<std::string>{"a has placed 00000007/puppet-5 on sim:0"},
               boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(what_cannot_be_spawned_is_answered_by_a_sentence_and_nothing_lives,
                        agent_stage) {
    using change = std::function<void(proto::Spawn::Builder)>;
    const std::pair<change, std::string> bad[] = {
        {[](proto::Spawn::Builder b) { b.setRole("dancer"); },
         "node a has no role 'dancer', it has puppet, deaf, slow"},
        {[](proto::Spawn::Builder b) { b.setRole("dan\x1b[2Jcer"); },
         "node a has no role 'dan\\x1b[2Jcer', it has puppet, deaf, slow"},
        {[](proto::Spawn::Builder b) { b.setOptionsType(type_id_of<proto::WorkDone>()); },
         "node a reads other options of a puppet; start it with the same version of troupe as the "
         "run"},
        {[](proto::Spawn::Builder b) { b.setDevice("cuda:0"); }, "node a has no device 'cuda:0'"},
        {[](proto::Spawn::Builder b) { b.setDevice(""); }, "node a has no device ''"},
        {[](proto::Spawn::Builder b) { b.getOptions().getAs<proto::Probe>().setNumber(13); },
         "13 is no puppet's number"},
        {[](proto::Spawn::Builder b) {
             b.setRole("deaf");
             b.setOptionsType(type_id_of<proto::WorkDone>());
             b.getOptions().initAs<proto::WorkDone>();
         },
         "a deaf role fits no device"},
        {[](proto::Spawn::Builder spawn) { spawn.setRun(0); }, "a run has a number other than 0"},
    };
    for (const auto& [make, sentence] : bad) {
        frame_builder<proto::Spawn> spawn = request(7, 5);
        make(spawn.body());
        ask(asker, std::move(spawn));
        BOOST_TEST(answer(asker) == sentence);
        BOOST_TEST(asker.log.got.back()->body<proto::SpawnFailed>().getRequest() == 5u);
    }
    BOOST_TEST(puppets() == 0u);
    ask(other, request(7, 5)); // the run is nobody's yet
    BOOST_TEST(answer(other) == "");
}

// Whatever it reads of them is refused as any body that cannot be read.
BOOST_FIXTURE_TEST_CASE(options_that_cannot_be_read_are_refused, agent_stage) {
    frame_builder<proto::Spawn> spawn = request(7, 5);
    spawn.body().getOptions().setAs<capnp::Text>("five");
    ask(asker, std::move(spawn));
    BOOST_TEST(asker.log.got.empty());
    BOOST_TEST(asker.log.rejected.size() == 1u);
    BOOST_TEST(puppets() == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_request_is_carried_out_once_and_a_run_has_one_asker, agent_stage) {
    ask(asker, request(7, 5));
    ask(asker, request(7, 5));
    BOOST_TEST(answer(asker) == "this request of this run has been carried out already");
    ask(other, request(7, 6));
    BOOST_TEST(answer(other) == "this run is another asker's");
    BOOST_TEST(puppets() == 1u);
    ask(other, request(8, 5)); // of another run
    BOOST_TEST(answer(other) == "");
    BOOST_TEST(puppets() == 2u);
}

BOOST_FIXTURE_TEST_CASE(while_a_device_works_for_an_actor_the_agent_answers_all_else, agent_stage) {
    ask_slow(asker, 7, 5);
    BOOST_TEST(asker.log.got.empty());
    say(asker, agent, frame_builder<proto::AreYouThere>{});
    BOOST_TEST(asker.log.all<proto::HereIAm>().size() == 1u);
    ask(asker, request(7, 6));
    BOOST_TEST(answer(asker) == "");
    ask(asker, request(7, 5));
    BOOST_TEST(answer(asker) == "this request of this run has been carried out already");
    ask(other, request(7, 8));
    BOOST_TEST(answer(other) == "this run is another asker's");
    BOOST_TEST(puppets() == 1u);
    work();
    BOOST_TEST(worked_for == std::vector<std::uint64_t>{5}, boost::test_tools::per_element());
    const auto there = asker.log.got.back()->body<proto::Spawned>();
    BOOST_TEST(there.getRequest() == 5u);
    BOOST_TEST((read_address(there.getAddress()) == *node.address_of("puppet-5")));
    BOOST_TEST(said.back() == "a has placed 00000007/puppet-5 on sim:0");
}

BOOST_FIXTURE_TEST_CASE(work_for_an_actor_that_fails_is_answered_by_its_sentence, agent_stage) {
    ask_slow(asker, 7, 14);
    work();
    BOOST_TEST(answer(asker) == "14 comes to nothing");
    BOOST_TEST(asker.log.got.back()->body<proto::SpawnFailed>().getRequest() == 14u);
    BOOST_TEST(puppets() == 0u);
    ask(other, request(7, 5)); // the run is nobody's yet
    BOOST_TEST(answer(other) == "");
    ask_slow(other, 7, 14);
    work();
    BOOST_TEST(answer(other) == "14 comes to nothing");
    ask(asker, request(7, 6)); // it is that of who has an actor in it
    BOOST_TEST(answer(asker) == "this run is another asker's");
}

BOOST_FIXTURE_TEST_CASE(no_actor_comes_to_a_run_that_has_ended_meanwhile, agent_stage) {
    const auto release = [&] {
        frame_builder<proto::Release> message;
        message.body().setRun(7);
        say(asker, agent, std::move(message));
    };
    ask_slow(asker, 7, 5);
    release();
    work();
    BOOST_TEST(puppets() == 0u);
    BOOST_TEST(asker.log.got.empty());
    ask_slow(asker, 7, 5);
    release();
    ask_slow(asker, 7, 5); // the same once more
    work();
    BOOST_TEST(puppets() == 0u);
    work();
    BOOST_TEST(answer(asker) == "");
    BOOST_TEST(puppets() == 1u);
    ask_slow(asker, 7, 6);
    act(asker, [](puppet& self) { self.quit(); });
    BOOST_TEST(puppets() == 0u);
    work();
    BOOST_TEST(puppets() == 0u);
}

// There is no address of theirs yet that the asker could name.
BOOST_FIXTURE_TEST_CASE(no_actor_that_is_not_there_yet_ends_by_an_address, agent_stage) {
    ask_slow(asker, 7, 5);
    frame_builder<proto::EndActors> message;
    message.body().initActors(1);
    message.body().setRun(7);
    say(asker, agent, std::move(message));
    work();
    BOOST_TEST(answer(asker) == "");
    BOOST_TEST(puppets() == 1u);
}

BOOST_FIXTURE_TEST_CASE(actors_of_a_run_share_objects_and_no_others, agent_stage) {
    ask(asker, request(7, 1, 4));
    ask(asker, request(7, 2, 4));
    ask(asker, request(7, 3, 5));
    ask(other, request(8, 4, 4));
    BOOST_REQUIRE(shared.size() == 4u);
    BOOST_TEST(shared[0] == shared[1]);
    BOOST_TEST(shared[0] != shared[2]);
    BOOST_TEST(shared[0] != shared[3]);
    shared_objects objects;
    BOOST_TEST(static_cast<void*>(objects.of<int>(4).get()) !=
               static_cast<void*>(objects.of<float>(4).get()));
}

BOOST_FIXTURE_TEST_CASE(actors_that_a_run_goes_on_without_end_and_others_stay, agent_stage) {
    for (const std::uint64_t number : {1u, 2u, 3u})
        ask(asker, request(7, number));
    ask(other, request(8, 4));
    const auto end = [&](part& by, std::uint64_t run, const std::vector<std::string>& names) {
        frame_builder<proto::EndActors> message;
        message.body().setRun(run);
        auto list = message.body().initActors(static_cast<unsigned>(names.size()));
        for (unsigned i = 0; i < list.size(); ++i)
            write_address(list[i], *node.address_of(names[i]));
        say(by, agent, std::move(message));
    };
    end(other, 7, {"puppet-1"});                   // another asker's run
    end(asker, 8, {"puppet-4"});                   // likewise
    end(asker, 7, {"puppet-4", "agent", "other"}); // no actors of the run
    end(asker, 9, {"puppet-1"});                   // no run
    BOOST_TEST(puppets() == 4u);
    end(asker, 7, {"puppet-1", "puppet-3"});
    BOOST_TEST(puppets() == 2u);
    BOOST_TEST(node.address_of("puppet-2").has_value());
    BOOST_TEST(node.address_of("other").has_value());
    ask(asker, request(7, 1)); // its number is free again
    BOOST_TEST(answer(asker) == "");
}

BOOST_FIXTURE_TEST_CASE(a_run_ends_by_its_asker_alone, agent_stage) {
    ask(asker, request(7, 1));
    ask(asker, request(7, 2));
    ask(asker, request(9, 3));
    const auto release = [&](part& by) {
        frame_builder<proto::Release> message;
        message.body().setRun(7);
        say(by, agent, std::move(message));
    };
    release(other);
    BOOST_TEST(puppets() == 3u);
    release(asker);
    BOOST_TEST(puppets() == 1u);
    BOOST_TEST(said.back() == "the actors of a have ended: the run is done");
    act(asker, [](puppet& self) { self.quit(); }); // the agent has watched it on
    BOOST_TEST(puppets() == 0u);
    BOOST_TEST(said.back().starts_with(
                   "the actors of a have ended: the actor that leads the run is gone: "),
               said.back());
}

BOOST_FIXTURE_TEST_CASE(a_node_carries_so_many_actors_and_no_more, agent_stage) {
    for (std::uint64_t number = 100; number < 110; ++number) { // more than the node carries
        asker.log.lines.push_back([this, number](puppet& self) {
            for (std::uint64_t more = 0; more < 512; ++more)
                self.send(agent, request(7, number * 1000 + more));
        });
        node.send(asker.address, frame_builder<proto::Probe>{});
        settle();
    }
    ask(other, request(8, 1));
    BOOST_TEST(answer(other) ==
               "node a carries 4096 actors of runs already; wait for other runs to end");
    act(asker, [](puppet& self) { self.quit(); });
    ask(other, request(8, 1));
    BOOST_TEST(answer(other) == "");
}

BOOST_AUTO_TEST_SUITE_END()
