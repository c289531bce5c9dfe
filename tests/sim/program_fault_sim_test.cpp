// Parts of programs that throw, and actors that are lost again and again at the same place: the run ends with a sentence,
// and its nodes stay.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <new>
#include <stdexcept>

#include "actors/runtime/actor_names.hpp"
#include "tests/scheduled/chain.hpp"
#include "tests/scheduled/ring.hpp"
#include "tests/sim/program_sim.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::scheduled;
using namespace troupe::test;

namespace {

using hook = std::function<void(const std::string& call, std::uint64_t phase)>; // may throw

constexpr std::uint64_t no_phase = ~std::uint64_t{0};

// What parts of both kinds have in common.
template <class Part>
class hooked_part : public Part {
  public:
    hooked_part(std::unique_ptr<Part> part, hook before)
        : part_{std::move(part)}, before_{std::move(before)} {}

    std::string describe(const phase& p) const override {
        before_("describe", p.number);
        return part_->describe(p);
    }
    result<saved_part> save() const override {
        before_("save", no_phase);
        return part_->save();
    }
    result<void> load(const saved_part& from) override {
        before_("load", no_phase);
        return part_->load(from);
    }

  protected:
    const std::unique_ptr<Part> part_;
    const hook before_;
};

class hooked_scheduler final : public hooked_part<scheduler_part> {
  public:
    using hooked_part::hooked_part;

    result<phase> schedule(std::uint64_t number, random_stream& random) override {
        before_("schedule", number);
        return part_->schedule(number, random);
    }
    result<payload> pull(const phase& p, in_flight deltas,
                         std::span<const payload> partials) override {
        before_("pull", p.number);
        return part_->pull(p, deltas, partials);
    }
    result<void> absorb(const phase_deltas& deltas) override {
        before_("absorb", deltas.number);
        return part_->absorb(deltas);
    }
    result<payload> judge(std::uint64_t number, in_flight deltas,
                          std::span<const payload> partials) override {
        before_("judge", number);
        return part_->judge(number, deltas, partials);
    }
    result<standing> conclude(std::uint64_t number, std::span<const payload> judgements) override {
        before_("conclude", number);
        return part_->conclude(number, judgements);
    }
};

class hooked_worker final : public hooked_part<worker_part> {
  public:
    using hooked_part::hooked_part;

    result<void> take_data(const payload& piece) override {
        before_("take_data", no_phase);
        return part_->take_data(piece);
    }
    result<void> data_is_complete() override {
        before_("data_is_complete", no_phase);
        return part_->data_is_complete();
    }
    result<void> apply(const phase_deltas& deltas) override {
        before_("apply", deltas.number);
        return part_->apply(deltas);
    }
    result<payload> push(const phase& p, compute_context& context) override {
        before_("push", p.number);
        return part_->push(p, context);
    }
    result<payload> probe(const phase& p, std::uint32_t scheduler,
                          compute_context& context) override {
        before_("probe", p.number);
        return part_->probe(p, scheduler, context);
    }
    result<payload> make_block(std::uint32_t block) override {
        before_("make_block", no_phase);
        return part_->make_block(block);
    }
    result<payload> turn(const phase& p, held_block& block, compute_context& context) override {
        before_("turn", p.number);
        return part_->turn(p, block, context);
    }
    result<void> pass(const phase& p, std::uint32_t schedulers, compute_context& context) override {
        before_("pass", p.number);
        return part_->pass(p, schedulers, context);
    }
};

struct hooks {
    hook of_scheduler = [](const std::string&, std::uint64_t) {};
    hook of_worker = [](const std::string&, std::uint64_t) {};
};

program hooked(program what, const hooks& by) {
    what.make_scheduler =
        [make = what.make_scheduler, before = by.of_scheduler](
            const scheduler_site& site) -> result<std::unique_ptr<scheduler_part>> {
        before("make_scheduler", no_phase);
        return std::unique_ptr<scheduler_part>{
            std::make_unique<hooked_scheduler>(make(site).value(), before)};
    };
    what.make_worker = [make = what.make_worker, before = by.of_worker](
                           const worker_site& site) -> result<std::unique_ptr<worker_part>> {
        before("make_worker", no_phase);
        return std::unique_ptr<worker_part>{
            std::make_unique<hooked_worker>(make(site).value(), before)};
    };
    what.write_result = [write = what.write_result,
                         before = by.of_scheduler](const result_site& site, const ended_run& run) {
        before("write_result", no_phase);
        return write(site, run);
    };
    return what;
}

enum class side : std::uint8_t { scheduler, worker };

struct thrown_call {
    side by = side::worker;
    std::string name;
    std::uint64_t phase = no_phase; // from which on it throws
    bool is_behind_a_loss = false;  // of a worker's node
    std::uint32_t padding = 0;      // of partial results, so that they are not folded in a handler
    bool rotates = false;
};

hooks hooks_of(const thrown_call& call, const bool& may_throw) {
    const hook before = [call, &may_throw](const std::string& name, std::uint64_t phase) {
        if (may_throw && name == call.name && (call.phase == no_phase || phase >= call.phase))
            throw std::out_of_range{"made to throw"};
    };
    return call.by == side::worker ? hooks{.of_worker = before} : hooks{.of_scheduler = before};
}

program_sim_shape shape_of(program what, bool rotates) {
    return {.what = std::move(what),
            .data = std::make_shared<made_rows>(24, 18),
            .workers = 3,
            .schedulers = rotates ? 1u : 2u,
            .blocks_per_worker = rotates ? 2u : 0u,
            .nodes = 5};
}

bool are_there(program_sim& run, const std::vector<std::size_t>& nodes) {
    return std::ranges::all_of(nodes, [&](std::size_t n) {
        return std::ranges::any_of(
            run.node(n).actors(), [](const actor_status& a) { return is_called(a.name, "agent"); });
    });
}

// The failure that the run ends with.
error failure_of(const thrown_call& call) {
    const temporary_folder folder;
    bool may_throw = !call.is_behind_a_loss;
    program_sim_shape shape =
        shape_of(hooked(call.rotates ? ring_program() : chain_program(), hooks_of(call, may_throw)),
                 call.rotates);
    shape.result = folder.path().string();
    shape.between_commits = std::chrono::minutes{1}; // one, at the first phases
    program_sim run{3, std::move(shape), [&](proto::ProgramApp::Builder app) {
                        auto settings =
                            app.getProgram().getSettings().initAs<proto::ChainSettings>();
                        settings.setPhases(call.is_behind_a_loss ? 1000000 : 100);
                        settings.setPadding(call.padding);
                    }};
    if (call.is_behind_a_loss) {
        run.sim().run_until([&] { return run.news().milestones.size() > 5; },
                            std::chrono::minutes{5});
        may_throw = true;
        run.kill(2); // a worker's alone
    }
    const auto failure = run.to_the_end().failure;
    BOOST_REQUIRE(failure.has_value());
    const auto losses = std::ranges::count_if(run.news().notes, [](const std::string& note) {
        return note.find("it carried") != std::string::npos;
    });
    BOOST_TEST(losses == (call.is_behind_a_loss ? 1 : 0)); // no further one
    BOOST_TEST(are_there(run, {0, 1, 3, 4}));
    return *failure;
}

std::size_t node_of(program_sim& run, const std::string& role) {
    for (std::size_t n = 0; n < run.nodes(); ++n)
        for (const actor_status& a : run.node(n).actors())
            if (is_called(a.name, role))
                return n;
    return run.nodes();
}

// As a part that ends its process would; the worker is on a node.
void kill_node_of(program_sim& run, const std::string& role) {
    run.sim().run_until([&] { return node_of(run, role) < run.nodes(); }, std::chrono::minutes{5});
    const std::size_t n = node_of(run, role);
    BOOST_TEST_REQUIRE(n < run.nodes());
    run.kill(n);
}

} // namespace

BOOST_AUTO_TEST_SUITE(faults_of_programs)

BOOST_AUTO_TEST_CASE(a_part_that_throws_ends_the_run_with_a_sentence) {
    const thrown_call calls[] = {
        {side::scheduler, "make_scheduler"},
        {side::scheduler, "schedule", 30},
        {side::scheduler, "describe", 30},
        {side::scheduler, "pull", 30},
        {.by = side::scheduler, .name = "pull", .phase = 30, .padding = 300},
        {side::scheduler, "absorb", 30},
        {side::scheduler, "judge", 30},
        {side::scheduler, "conclude", 30},
        {side::scheduler, "save"},
        {side::scheduler, "write_result"},
        {side::worker, "make_worker"},
        {side::worker, "take_data"},
        {side::worker, "data_is_complete"},
        {side::worker, "apply", 30},
        {side::worker, "push", 30},
        {side::worker, "probe", 30},
        {side::worker, "describe", 30},
        {side::worker, "save"},
        {side::worker, "load", no_phase, true},
        {side::worker, "pass", no_phase, true},
        {.name = "make_block", .rotates = true},
        {.name = "turn", .phase = 30, .rotates = true},
        {.by = side::scheduler, .name = "load", .is_behind_a_loss = true, .rotates = true},
    };
    for (const thrown_call& call : calls) {
        BOOST_TEST_CONTEXT(call.name
                           << (call.by == side::worker ? " of a worker" : " of a scheduler")) {
            const error why = failure_of(call);
            BOOST_TEST((why.code() == errc::numeric), why.message());
            const std::string thrown = " of the program has thrown an exception: made to throw";
            BOOST_TEST(why.message().find(thrown) != std::string::npos, why.message());
            const std::string named =
                call.phase == no_phase ? call.name : call.name + " of phase 3";
            BOOST_TEST(why.message().find(named) != std::string::npos, why.message());
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_thrown_may_be_anything) {
    const auto failure_by = [](const std::function<void()>& thrower) {
        program_sim run{
            3,
            shape_of(hooked(chain_program(), {.of_worker =
                                                  [&](const std::string& call, std::uint64_t) {
                                                      if (call == "push")
                                                          thrower();
                                                  }}),
                     false),
            [](proto::ProgramApp::Builder app) {
                app.getProgram().getSettings().initAs<proto::ChainSettings>();
            }};
        const auto failure = run.to_the_end().failure;
        return failure ? failure->message() : "";
    };
    BOOST_TEST(failure_by([] {
                   throw std::bad_alloc{};
               }).find("push of the program: no memory is left; use more nodes") !=
               std::string::npos);
    BOOST_TEST(failure_by([] {
                   throw std::runtime_error{""};
               }).ends_with("has thrown an exception without a text"));
    BOOST_TEST(failure_by([] { throw 3; }).find("push of phase 0 of the program has thrown") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_actor_that_is_lost_again_and_again_at_the_same_place_ends_the_run) {
    program_sim run{5, shape_of(chain_program(), false), [](proto::ProgramApp::Builder app) {
                        app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(
                            1000000);
                    }};
    // The run cannot begin without worker-0.
    run.sim().network().cut(run.run_node().node(), run.node(0).node());
    for (std::uint32_t k = 0; k < repeated_losses::in_succession_max; ++k) {
        run.sim().run_for(std::chrono::seconds{1}); // it is there
        BOOST_TEST(!run.news().outcome.has_value());
        kill_node_of(run, "worker-1");
    }
    run.sim().run_for(std::chrono::seconds{2});
    BOOST_TEST_REQUIRE(run.news().outcome.has_value());
    const auto failure = run.to_the_end().failure;
    BOOST_REQUIRE(failure.has_value());
    BOOST_TEST((failure->code() == errc::numeric));
    BOOST_TEST(failure->message().find("lost 3 times in succession") != std::string::npos,
               failure->message());
    BOOST_TEST(failure->message().find("worker-1 on node-") != std::string::npos,
               failure->message());
}

// By no fault of the program: nothing is folded again between, as all go back to the beginning.
BOOST_AUTO_TEST_CASE(a_run_that_loses_its_nodes_one_after_the_other_says_that_none_is_left) {
    program_sim_shape shape = shape_of(chain_program(), false);
    shape.workers = shape.schedulers = 1;
    shape.nodes = repeated_losses::in_succession_max;
    shape.between_commits = std::chrono::hours{1};
    const temporary_folder saved;
    const auto store = std::make_shared<run_checkpoints>(
        run_checkpoints::open(saved.path() / "saved", 2, {"chain", {}}).value());
    shape.checkpoints = store;
    program_sim run{5, std::move(shape), [](proto::ProgramApp::Builder app) {
                        app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(
                            1000000);
                    }};
    run.sim().run_until([&] { return run.news().milestones.size() > 200; },
                        std::chrono::minutes{5});
    for (std::size_t n = 0; n < run.nodes(); ++n) {
        kill_node_of(run, "worker-0");
        run.sim().run_for(std::chrono::milliseconds{20}); // it is there
    }
    const auto failure = run.to_the_end().failure;
    BOOST_REQUIRE(failure.has_value());
    BOOST_TEST((failure->code() == errc::lost));
    BOOST_TEST(failure->message().ends_with(
                   "and no node is left to go on; " + store->latest_folder().string() +
                   " is saved: start nodes and go on from it by --resume; where nobody has ended "
                   "the nodes, see what they print"),
               failure->message());
}

// As of a rack: the actor is on its way to nodes that are gone already. Which of them the run misses first is the seed's.
BOOST_AUTO_TEST_CASE(losses_of_nodes_to_which_an_actor_had_not_come_do_not_count) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        program_sim run{seed, shape_of(chain_program(), false), [](proto::ProgramApp::Builder app) {
                            app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(
                                1000000);
                        }};
        run.sim().run_until([&] { return node_of(run, "worker-1") < run.nodes(); },
                            std::chrono::minutes{5});
        const std::size_t first = node_of(run, "worker-1");
        for (std::size_t n = first; n < first + repeated_losses::in_succession_max; ++n)
            run.sim().kill(run.node(n));
        run.run_node().send(actor_address{run.node(first).node(), well_known::agent},
                            frame_builder<proto::Release>{});
        run.sim().run_for(std::chrono::seconds{2});
        BOOST_TEST(!run.news().outcome.has_value(), "seed " << seed);
        BOOST_TEST(node_of(run, "worker-1") < run.nodes(), "seed " << seed);
    }
}

BOOST_AUTO_TEST_CASE(a_run_that_gets_on_between_its_losses_goes_on) {
    program_sim_shape shape = shape_of(chain_program(), false);
    shape.nodes = 7;
    program_sim run{5, std::move(shape), [](proto::ProgramApp::Builder app) {
                        app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(
                            400);
                    }};
    for (std::size_t k = 0; k < 4; ++k) {
        const std::size_t further = run.news().milestones.size() + 3;
        run.sim().run_until([&] { return run.news().milestones.size() >= further; },
                            std::chrono::minutes{5});
        kill_node_of(run, "worker-1");
    }
    const run_finished& end = run.to_the_end();
    BOOST_TEST(!end.failure.has_value(), (end.failure ? end.failure->message() : ""));
}

BOOST_AUTO_TEST_SUITE_END()
