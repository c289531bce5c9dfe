// Nodes that carry workers alone are lost: others take their places and replay, everybody else keeps what has been computed,
// and the result is that of a run that nothing befalls, to the bit.
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>
#include <map>
#include <tuple>

#include "actors/scheduled/sparse_pieces.hpp"
#include "apps/factorization/factorization.capnp.h"
#include "apps/factorization/factorization.hpp"
#include "apps/lasso/lasso.capnp.h"
#include "apps/lasso/lasso.hpp"
#include "tests/scheduled/chain.hpp"
#include "tests/sim/program_sim.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using write_app = std::function<void(proto::ProgramApp::Builder)>;

struct followed {
    const char* name;
    scheduled::program what;
    std::function<std::shared_ptr<scheduled::piece_source>()> data;
    write_app app;
    std::vector<std::string> files; // of the result
};

// The sign of a target is its class.
class made_classes final : public scheduled::piece_source {
  public:
    scheduled::data_shape shape() const override { return rows_.shape(); }
    std::uint64_t row_work(std::uint64_t row) const override { return rows_.row_work(row); }
    std::uint64_t column_work(std::uint64_t column) const override {
        return rows_.column_work(column);
    }
    result<std::optional<scheduled::rows_piece>> next(std::uint64_t rows_max,
                                                      memory_pool& memory) override {
        auto piece = rows_.next(rows_max, memory);
        if (piece && *piece)
            for (double& target : (*piece)->tensors[3].mutable_values<double>())
                target = target > 0 ? 1 : 0;
        return piece;
    }
    result<void> rewind() override { return rows_.rewind(); }

  private:
    made_rows rows_{30, 12};
};

std::shared_ptr<scheduled::piece_source> made_ratings() {
    random_stream random{13};
    scheduled::sparse_data data{.columns = 14};
    for (int user = 0; user < 24; ++user) {
        for (int item = 0; item < 14; ++item) {
            if (random.uniform() >= 0.5)
                continue;
            data.rows.indices.push_back(item);
            data.rows.values.push_back(static_cast<float>(3 + random.normal()));
        }
        data.rows.starts.push_back(static_cast<std::int64_t>(data.rows.values.size()));
    }
    return scheduled::pieces_of(std::move(data), 256);
}

write_app lasso_app(proto::LassoLoss loss) {
    return [loss](proto::ProgramApp::Builder app) {
        auto lasso = app.getProgram().getSettings().initAs<proto::LassoSettings>();
        auto path = lasso.initPenalty().initPath();
        path.setCount(3);
        path.setRatio(0.1);
        lasso.setLoss(loss);
        app.getSchedule().getDynamic().setSet(2);
        app.initStop().setGap(1e-7);
    };
}

const std::vector<followed>& programs() {
    static const std::vector<followed> all = {
        {"chain",
         chain_program(),
         [] { return std::make_shared<made_rows>(24, 18); },
         [](proto::ProgramApp::Builder app) {
             app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(120);
         },
         {"chain.bin"}},
        {"lasso",
         lasso::lasso_program(),
         [] { return std::make_shared<made_rows>(30, 12); },
         lasso_app(proto::LassoLoss::SQUARED),
         {"coefficients.npy", "path.csv"}},
        {"lasso, logistic",
         lasso::lasso_program(),
         [] { return std::make_shared<made_classes>(); },
         lasso_app(proto::LassoLoss::LOGISTIC),
         {"coefficients.npy", "path.csv"}},
        {"factorization, coordinates",
         factorization::factorization_program(),
         made_ratings,
         [](proto::ProgramApp::Builder app) {
             auto settings = app.getProgram().getSettings().initAs<proto::FactorizationSettings>();
             settings.setRank(3);
             settings.setBy(proto::FactorizationMethod::COORDINATES);
             const std::uint32_t window = app.getSchedule().getDynamic().getWindow();
             app.getSchedule().initCyclic().setWindow(window);
             app.initStop().setSweeps(8);
         },
         {"user_factors.npy", "item_factors.npy", "user_biases.npy", "item_biases.npy"}}};
    return all;
}

struct division {
    std::uint32_t workers = 3;
    std::uint32_t schedulers = 1;
    std::uint32_t window = 2;
    auto operator<=>(const division&) const = default;
};

// The last worker's node has no scheduler.
division division_of(std::uint64_t seed) {
    const std::uint32_t windows[] = {0, 2, 5};
    const auto schedulers = static_cast<std::uint32_t>(1 + seed % 2);
    return {schedulers + 1 + static_cast<std::uint32_t>(seed / 2 % 2), schedulers,
            windows[seed / 4 % 3]};
}

program_sim_shape shape_of(const followed& p, const division& d, const temporary_folder& folder) {
    return {.what = p.what,
            .data = p.data(),
            .workers = d.workers,
            .schedulers = d.schedulers,
            .window = d.window,
            .nodes = 5,
            .result = folder.path().string(),
            .between_commits = std::chrono::minutes{1}};
}

struct end_of_run {
    std::string files;
    std::vector<double> milestones;
    std::uint64_t messages = 0; // from its first phase to its end
};

end_of_run end_of(program_sim& run, const followed& p, const temporary_folder& folder) {
    const run_finished& outcome = run.to_the_end();
    BOOST_REQUIRE_MESSAGE(!outcome.failure, (outcome.failure ? outcome.failure->message() : ""));
    end_of_run end;
    for (const std::string& name : p.files) {
        std::ifstream in{folder.path() / name, std::ios::binary};
        BOOST_TEST_REQUIRE(in.is_open(), name);
        end.files.append(std::istreambuf_iterator<char>{in}, {});
    }
    for (const run_milestone& m : run.news().milestones)
        for (const named_number& n : m.numbers)
            end.milestones.push_back(n.value);
    return end;
}

bool has_begun(const program_sim& run) {
    return run.news().starts > 0;
}
bool has_ended(const program_sim& run) {
    return run.news().outcome.has_value();
}

const end_of_run& undisturbed(const followed& p, const division& d) {
    static std::map<std::pair<std::string, division>, end_of_run> known;
    end_of_run& end = known[{p.name, d}];
    if (end.files.empty()) {
        const temporary_folder folder;
        program_sim_shape shape = shape_of(p, d, folder);
        shape.is_stormy = false;
        program_sim run{1, std::move(shape), p.app};
        run.sim().run_until([&] { return has_begun(run); }, std::chrono::minutes{5});
        const std::uint64_t before = run.sim().messages_handled();
        end = end_of(run, p, folder);
        end.messages = run.sim().messages_handled() - before;
    }
    return end;
}

std::size_t notes_with(const program_sim& run, const std::string& words) {
    return static_cast<std::size_t>(
        std::ranges::count_if(run.news().notes, [&](const std::string& note) {
            return note.find(words) != std::string::npos;
        }));
}

void run_for(program_sim& run, std::uint64_t messages) {
    const std::uint64_t until = run.sim().messages_handled() + messages;
    run.sim().run_until([&] { return run.sim().messages_handled() >= until || has_ended(run); },
                        std::chrono::minutes{60});
}

struct outcomes {
    bool are_few = false; // fewer seeds than by default: they say little together
    std::size_t runs = 0;
    std::size_t replays = 0;
    std::size_t second_replays = 0; // that began before the first had ended, or just behind
    std::size_t pairs = 0;          // replays of two at a time
    std::size_t returns = 0;        // of all to the commit
    std::size_t cuts = 0;           // of which an actor told the leader
};

struct disturbance {
    bool is_cut =
        false; // between two nodes that carry actors; otherwise the last worker's node is lost
    // Another one is lost while the first one's place is taken, or replayed: of a worker, or with a scheduler.
    bool has_second = false;
    bool is_scheduler_second = false;
    bool is_cut_second =
        false; // between a scheduler and the one that has taken the first one's place
    std::uint64_t device_memory = 1u << 28;
    duration between_commits = std::chrono::minutes{1};
    bool has_checkpoints = false; // then workers save what they are behind the end, too
    bool has_pairs = false;       // of workers, on each of three nodes
};

void check_same(std::uint64_t seed, const followed& p, const disturbance& by, outcomes& all) {
    division d = division_of(seed);
    if (by.has_pairs)
        d.workers = 6;
    const end_of_run& expected = undisturbed(p, d);
    const temporary_folder folder;
    program_sim_shape shape = shape_of(p, d, folder);
    shape.device_memory = by.device_memory;
    if (by.has_pairs)
        shape.nodes = 3;
    shape.between_commits = by.between_commits;
    const temporary_folder saved;
    if (by.has_checkpoints)
        shape.checkpoints = std::make_shared<scheduled::run_checkpoints>(
            scheduled::run_checkpoints::open(saved.path() / "saved", 2, {p.name, {}}).value());
    program_sim run{seed, std::move(shape), p.app};
    random_stream random{seed, 4};
    run.sim().run_until([&] { return has_begun(run); }, std::chrono::minutes{5});
    const std::uint64_t late = by.has_checkpoints ? expected.messages * 3 / 4 : 0;
    run_for(run, late + random.below(expected.messages - late / 2));
    if (has_ended(run))
        return;
    if (by.is_cut) {
        const auto a = static_cast<std::size_t>(random.below(d.workers));
        run.cut(a, (a + 1 + random.below(d.workers - 1)) % d.workers);
    } else {
        run.kill(by.has_pairs ? 2 : d.workers - 1);
    }
    if (by.has_second) {
        if (random.below(2) == 0) // while it replays
            run.sim().run_until([&] { return notes_with(run, " replay") > 0 || has_ended(run); },
                                std::chrono::minutes{5});
        run_for(run, random.below(100));
        // The spare node, where the first one's place has been taken, or another worker's.
        if (by.is_cut_second)
            run.cut(0, d.workers);
        else if (!has_ended(run))
            run.kill(by.is_scheduler_second                                 ? 0
                     : random.below(2) == 0 || d.workers - 2 < d.schedulers ? d.workers
                                                                            : d.workers - 2);
    }
    const end_of_run end = end_of(run, p, folder);
    BOOST_TEST((end.files == expected.files));
    BOOST_TEST(end.milestones == expected.milestones, boost::test_tools::per_element());
    BOOST_TEST(run.news().starts == 1);
    ++all.runs;
    all.replays += notes_with(run, " replay") > 0;
    all.second_replays += notes_with(run, " replay") > 1;
    all.pairs += notes_with(run, "worker-2, worker-5 replay ") > 0 &&
                 notes_with(run, " take over") > 0 && notes_with(run, " phases each") > 0;
    // How a loss goes on is said once.
    BOOST_TEST((by.has_second || notes_with(run, "all others keep") == 0 ||
                notes_with(run, "all go back") == 0));
    all.cuts += notes_with(run, " have lost each other") > 0;
    all.returns += notes_with(run, "the run goes on from") + notes_with(run, "all go back") > 0;
}

outcomes check_all(std::uint64_t seeds, const disturbance& by, std::size_t programs_max = 100) {
    const seed_range range{seeds};
    outcomes all{.are_few = range.are_few()};
    for (const std::uint64_t seed : range)
        for (const followed& p :
             std::span{programs()}.first(std::min(programs_max, programs().size())))
            BOOST_TEST_CONTEXT(p.name << ", seed " << seed)
    check_same(seed, p, by, all);
    BOOST_TEST_MESSAGE(all.runs << " runs, " << all.replays << " replays, " << all.second_replays
                                << " twice, " << all.returns << " returns");
    return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(replays_in_the_simulator)

BOOST_AUTO_TEST_CASE(a_lost_worker_replays_and_nobody_else_goes_back, *seeded) {
    const outcomes all = check_all(50, {});
    BOOST_TEST((all.are_few || all.replays > all.runs * 3 / 4));
    BOOST_TEST((all.are_few || all.returns < all.runs / 8)); // lost before the first commit
}

BOOST_AUTO_TEST_CASE(a_cut_off_worker_that_has_taken_a_place_changes_no_bit, *seeded) {
    const outcomes all = check_all(30, {.has_second = true, .is_cut_second = true});
    BOOST_TEST((all.are_few || all.cuts > all.runs / 2));
}

BOOST_AUTO_TEST_CASE(a_cut_and_another_loss_behind_it_change_no_bit, *seeded) {
    const outcomes all = check_all(30, {.is_cut = true, .has_second = true});
    BOOST_TEST((all.are_few || all.cuts > all.runs / 4));
}

// It tells of all others before any of them tells of it.
BOOST_AUTO_TEST_CASE(a_node_that_is_cut_off_from_all_others_goes_and_it_alone, *seeded) {
    for (const std::uint64_t seed : seed_range{20}) {
        const followed& p = programs().front();
        const division d{4, 1, 2};
        const end_of_run& expected = undisturbed(p, d);
        const temporary_folder folder;
        program_sim run{seed, shape_of(p, d, folder), p.app};
        run.sim().run_until([&] { return has_begun(run); }, std::chrono::minutes{5});
        run_for(run, random_stream{seed, 6}.below(expected.messages / 2));
        for (const std::size_t other : {1u, 2u, 3u})
            run.cut(0, other);
        BOOST_TEST((end_of(run, p, folder).files == expected.files));
        BOOST_TEST(notes_with(run, " goes on without node node-0") == 1u);
        BOOST_TEST(notes_with(run, " goes on without ") == 1u);
    }
}

// The leader reaches both nodes, and parts with one of them.
BOOST_AUTO_TEST_CASE(a_cut_between_two_nodes_alone_changes_no_bit, *seeded) {
    const outcomes all = check_all(50, {.is_cut = true});
    BOOST_TEST((all.are_few ||
                all.cuts > all.runs / 3)); // others cut two workers, which send each other nothing
}

BOOST_AUTO_TEST_CASE(a_second_worker_that_is_lost_meanwhile_changes_no_bit, *seeded) {
    const outcomes all = check_all(30, {.has_second = true});
    BOOST_TEST((all.are_few || all.replays > all.runs / 2));
    BOOST_TEST((all.are_few || all.second_replays > all.runs / 8));
}

BOOST_AUTO_TEST_CASE(a_scheduler_that_is_lost_meanwhile_takes_all_back_to_the_same_bits, *seeded) {
    const outcomes all = check_all(20, {.has_second = true, .is_scheduler_second = true});
    BOOST_TEST((all.are_few || all.replays > all.runs / 4));
    BOOST_TEST((all.are_few || all.returns > all.runs / 2));
}

BOOST_AUTO_TEST_CASE(two_workers_that_are_lost_with_their_node_replay_together, *seeded) {
    const outcomes all = check_all(20, {.has_pairs = true});
    BOOST_TEST((all.are_few || all.pairs > all.runs * 3 / 4));
}

BOOST_AUTO_TEST_CASE(commits_every_few_phases_change_no_bit_of_a_replay, *seeded) {
    const outcomes all = check_all(20, {.between_commits = std::chrono::milliseconds{3}});
    BOOST_TEST((all.are_few || all.replays > all.runs / 2));
}

// At the end schedulers have ended, and a worker that is lost then replays nevertheless.
BOOST_AUTO_TEST_CASE(what_workers_are_at_the_end_is_saved_by_those_that_replay, *seeded) {
    const outcomes all = check_all(60, {.has_checkpoints = true});
    BOOST_TEST((all.are_few || all.runs > 50u)); // others have ended before
    BOOST_TEST((all.are_few || all.replays > all.runs / 2));
}

// Schedulers keep a few phases of this program only.
BOOST_AUTO_TEST_CASE(all_go_back_where_the_phases_since_the_commit_are_forgotten, *seeded) {
    const outcomes all = check_all(40, {.device_memory = 1u << 17}, 1);
    BOOST_TEST((all.are_few || all.replays < all.runs / 2));
    BOOST_TEST((all.are_few || all.returns > all.runs / 2));
}

BOOST_AUTO_TEST_SUITE_END()
