// Programs whose variables rotate, in the simulator: every block is computed with by every worker in its turn, and the same
// bits come out whatever the network does and whoever is lost.
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "tests/scheduled/chain.hpp"
#include "tests/scheduled/ring.hpp"
#include "tests/sim/program_sim.hpp"
#include "tests/support/program_driver.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::uint64_t variables = 72; // blocks are of the same size, whoever divides them
constexpr std::uint64_t phases = 40;

struct ring_shape {
    std::uint32_t workers = 1, per_worker = 1, window = 0;
    auto operator<=>(const ring_shape&) const = default;
};

ring_shape shape_of(std::uint64_t seed) {
    const std::uint32_t windows[] = {0, 1, 2, 5};
    return {static_cast<std::uint32_t>(1 + seed % 4), static_cast<std::uint32_t>(1 + seed / 4 % 3),
            windows[seed / 12 % 4]};
}

program_sim_shape sim_shape(const ring_shape& shape, const temporary_folder& folder) {
    return {.what = ring_program(),
            .data = std::make_shared<made_rows>(24, variables),
            .workers = shape.workers,
            .window = shape.window,
            .blocks_per_worker = shape.per_worker,
            .nodes = 4,
            .result = folder.path().string()};
}

const auto to_phases = [](proto::ProgramApp::Builder app) {
    app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(phases);
};

std::string result_in(const temporary_folder& folder) {
    std::ifstream in{folder.path() / "ring.bin", std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

driven_run sequential(const ring_shape& shape, capnp::AnyPointer::Reader settings) {
    driven_run run{.program = ring_program(), .settings = settings};
    run.schedule.kind = scheduled::schedule_kind::rotation;
    run.schedule.window = shape.window;
    run.schedule.blocks_per_worker = shape.per_worker;
    run.seed = 5;
    run.workers = shape.workers;
    return run;
}

matrix_rows rows_in_memory() {
    made_rows source{24, variables};
    matrix_rows rows{.columns = variables};
    memory_pool memory{1u << 20};
    while (const auto piece = source.next(24, memory).value()) {
        const auto values = piece->tensors[2].values<float>();
        const auto targets = piece->tensors[3].values<double>();
        rows.values.insert(rows.values.end(), values.begin(), values.end());
        rows.targets.insert(rows.targets.end(), targets.begin(), targets.end());
    }
    return rows;
}

// What the sequential program ends with.
std::string expected_bytes(driven_run run, std::size_t& milestones) {
    static const matrix_rows rows = rows_in_memory();
    program_driver driver{std::move(run), rows};
    auto end = driver.run();
    BOOST_REQUIRE(end.ok());
    milestones = end->standings.size();
    return ring_bytes(
        {std::move(end->saved), std::move(end->saved_workers), std::move(end->blocks)});
}

// By a probe, which ends the run of the settings that to_phases gives.
const std::pair<std::string, std::size_t>& expected(const ring_shape& shape) {
    static std::map<ring_shape, std::pair<std::string, std::size_t>> known;
    auto& end = known[shape];
    if (end.first.empty()) {
        capnp::MallocMessageBuilder settings;
        settings.initRoot<proto::ChainSettings>().setPhases(phases);
        end.first = expected_bytes(
            sequential(shape, settings.getRoot<capnp::AnyPointer>().asReader()), end.second);
    }
    return end;
}

// The number of notes on losses.
enum class fault : std::uint8_t { kill, cut };

std::size_t check_same(std::uint64_t seed, const ring_shape& shape,
                       const std::vector<std::uint64_t>& kills = {}, fault by = fault::kill) {
    const temporary_folder folder;
    program_sim run{seed, sim_shape(shape, folder), to_phases};
    for (std::size_t k = 0; k < kills.size(); ++k) {
        const std::uint64_t until = run.sim().messages_handled() + kills[k];
        run.sim().run_until(
            [&] { return run.sim().messages_handled() >= until || run.news().outcome.has_value(); },
            std::chrono::minutes{60});
        const std::size_t n = (seed + k) % run.nodes();
        by == fault::kill ? run.kill(n)
                          : run.cut(n, n == 0 ? 1 : n - 1); // of neighbours, where there are two
    }
    const run_finished& outcome = run.to_the_end();
    BOOST_REQUIRE_MESSAGE(!outcome.failure, outcome.failure->message());
    BOOST_TEST((result_in(folder) == expected(shape).first));
    BOOST_TEST(run.news().milestones.size() == expected(shape).second);
    return run.news().notes.size();
}

// Hands the block of one turn on under the number of another one.
class mistaken_worker final : public scheduled::worker_part {
  public:
    explicit mistaken_worker(std::unique_ptr<worker_part> own) : own_{std::move(own)} {}

    result<void> take_data(const scheduled::payload& piece) override {
        return own_->take_data(piece);
    }
    result<void> data_is_complete() override { return own_->data_is_complete(); }
    result<void> apply(const scheduled::phase_deltas& deltas) override {
        return own_->apply(deltas);
    }
    result<scheduled::payload> push(const scheduled::phase& p, compute_context& context) override {
        return own_->push(p, context);
    }
    result<scheduled::payload> probe(const scheduled::phase& p, std::uint32_t scheduler,
                                     compute_context& context) override {
        return own_->probe(p, scheduler, context);
    }
    result<scheduled::payload> make_block(std::uint32_t block) override {
        return own_->make_block(block);
    }
    result<scheduled::payload> turn(const scheduled::phase& p, scheduled::held_block& block,
                                    compute_context& context) override {
        auto computed = own_->turn(p, block, context);
        if (block.turn == 9)
            block.number ^= 1;
        return computed;
    }
    result<scheduled::saved_part> save() const override { return own_->save(); }
    result<void> load(const scheduled::saved_part& saved) override { return own_->load(saved); }

  private:
    std::unique_ptr<worker_part> own_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(rotations_in_the_simulator)

BOOST_AUTO_TEST_CASE(no_storm_changes_a_bit_of_a_rotation, *seeded) {
    for (const std::uint64_t seed : seed_range{1000})
        check_same(seed, shape_of(seed));
}

BOOST_AUTO_TEST_CASE(a_lost_node_changes_no_bit_of_a_rotation, *seeded) {
    std::size_t losses = 0, runs = 0;
    const seed_range seeds{200};
    for (const std::uint64_t seed : seeds) {
        random_stream random{seed, 3};
        losses += check_same(seed, shape_of(seed), {random.below(1000)}) > 0;
        ++runs;
    }
    BOOST_TEST((seeds.are_few() ||
                losses > runs / 4)); // others strike a node without actors, or come too late
}

BOOST_AUTO_TEST_CASE(a_cut_between_two_nodes_alone_changes_no_bit_of_a_rotation, *seeded) {
    std::size_t losses = 0, runs = 0;
    const seed_range seeds{200};
    for (const std::uint64_t seed : seeds) {
        random_stream random{seed, 5};
        losses += check_same(seed, shape_of(seed), {random.below(1000)}, fault::cut) > 0;
        ++runs;
    }
    BOOST_TEST((seeds.are_few() || losses > runs / 4));
}

BOOST_AUTO_TEST_CASE(a_second_node_that_is_lost_while_a_rotation_recovers_changes_no_bit, *seeded) {
    std::size_t losses = 0, runs = 0;
    const seed_range seeds{100};
    for (const std::uint64_t seed : seeds) {
        random_stream random{seed, 4};
        losses += check_same(seed, shape_of(seed), {random.below(600), random.below(120)}) > 1;
        ++runs;
    }
    BOOST_TEST((seeds.are_few() || losses > runs / 4));
}

BOOST_AUTO_TEST_CASE(saving_and_loading_changes_no_bit_of_a_rotation) {
    capnp::MallocMessageBuilder settings;
    settings.initRoot<proto::ChainSettings>().setPhases(phases);
    for (const std::uint64_t restart : {1u, 7u, 23u}) {
        const ring_shape shape{3, 2, 1};
        driven_run run = sequential(shape, settings.getRoot<capnp::AnyPointer>().asReader());
        run.restart = restart;
        std::size_t milestones = 0;
        BOOST_TEST((expected_bytes(std::move(run), milestones) == expected(shape).first));
    }
}

// The result is what it was at the probe of the last sweep, or before the phase that is the bound.
BOOST_AUTO_TEST_CASE(a_rotation_ends_exactly_at_its_bounds) {
    capnp::MallocMessageBuilder settings;
    settings.initRoot<proto::ChainSettings>().setPhases(1000000);
    for (const std::uint64_t bound : {15u, 21u}) { // phases: three sweeps of 5, and in the fifth
        const ring_shape shape{2, 2, 2};
        driven_run run = sequential(shape, settings.getRoot<capnp::AnyPointer>().asReader());
        run.phases_max = bound;
        std::size_t milestones = 0;
        const std::string bytes = expected_bytes(std::move(run), milestones);
        const temporary_folder folder;
        program_sim actors{
            bound, sim_shape(shape, folder), [&](proto::ProgramApp::Builder app) {
                app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(1000000);
                if (bound == 15)
                    app.initStop().setSweeps(3);
                else
                    app.initStop().setPhases(bound);
            }};
        BOOST_TEST(!actors.to_the_end().failure);
        BOOST_TEST((result_in(folder) == bytes));
        BOOST_TEST(actors.news().milestones.size() == milestones);
    }
}

BOOST_AUTO_TEST_CASE(workers_show_the_blocks_that_they_have) {
    const temporary_folder folder;
    program_sim run{6, sim_shape({2, 2, 1}, folder), to_phases};
    std::set<std::string> shown;
    run.sim().run_until(
        [&] {
            for (std::size_t n = 0; n < run.nodes(); ++n)
                for (const actor_status& a : run.node(n).actors())
                    for (const fact_board::fact& f : a.facts)
                        if (f.name == "blocks")
                            shown.insert(f.text);
            return run.news().outcome.has_value();
        },
        std::chrono::minutes{5});
    BOOST_TEST(shown.contains("0")); // of the worker that has computed with another one
    BOOST_TEST(shown.contains("3"));
}

BOOST_AUTO_TEST_CASE(a_rotation_that_is_stopped_writes_what_is_with_its_workers) {
    const temporary_folder folder;
    program_sim run{5, sim_shape({3, 2, 1}, folder), [](proto::ProgramApp::Builder app) {
                        app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(
                            1000000);
                    }};
    run.sim().run_until([&] { return run.news().milestones.size() > 3; }, std::chrono::minutes{5});
    run.run_node().send(run.root(), frame_builder<proto::StopRun>{});
    const auto failure = run.to_the_end().failure;
    BOOST_REQUIRE(failure.has_value());
    BOOST_TEST((failure->code() == errc::cancelled));
    BOOST_TEST(result_in(folder).size() > variables * sizeof(double));
}

BOOST_AUTO_TEST_CASE(a_block_that_the_next_worker_refuses_ends_the_run_with_its_reason, *seeded) {
    for (const std::uint64_t seed : seed_range{20}) {
        const temporary_folder folder;
        program_sim_shape shape = sim_shape({3, 2, 1}, folder);
        shape.what.make_worker = [make = shape.what.make_worker](const scheduled::worker_site& site)
            -> result<std::unique_ptr<scheduled::worker_part>> {
            auto own = make(site);
            if (!own || site.worker != 1)
                return own;
            return std::unique_ptr<scheduled::worker_part>{
                std::make_unique<mistaken_worker>(std::move(*own))};
        };
        program_sim run{seed, std::move(shape), to_phases};
        const auto failure = run.to_the_end().failure;
        BOOST_REQUIRE(failure.has_value());
        BOOST_TEST((failure->code() == errc::protocol));
        BOOST_TEST(failure->message().find("worker-1") != std::string::npos, failure->message());
        BOOST_TEST(failure->message().find("a message was refused: block ") != std::string::npos,
                   failure->message());
        BOOST_TEST(failure->message().find("is another worker's") != std::string::npos);
        BOOST_TEST(run.news().notes.empty()); // it is no loss, and not tried again
        BOOST_TEST(result_in(folder).empty());
    }
}

BOOST_AUTO_TEST_SUITE_END()
