// A program of scheduled parameters run sequentially, without actors: what the actors are compared with, bit for bit.
//
// It makes the calls of actors/scheduled/program.hpp in the order in which each part sees them, and nothing else:
// schedulers choose the phases that need no other first; then, for phase m = 0, 1, ...: workers apply the deltas that are
// due with m, as actors/scheduled/staleness.hpp says, and compute m; its scheduler pulls it and the others absorb it, or all
// judge and conclude it; the phases that become possible by that are chosen. If the variables rotate, the workers compute
// with the blocks of a turn instead. A run ends when a probe concludes that it is done, or at a bound of phases; if part of
// the result is with the workers, the former is at the first phase that needs this probe.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <capnp/message.h>

#include "actors/scheduled/data_pieces.hpp"
#include "actors/scheduled/program.hpp"
#include "actors/scheduled/staleness.hpp"
#include "kernels/ops/ops.hpp"

namespace troupe::test {

// Rows in memory: dense, row by row, if there are no starts; otherwise as data_pieces.hpp has them.
struct matrix_rows {
    std::uint64_t columns = 0;
    std::vector<std::int64_t> starts;
    std::vector<std::int32_t> indices;
    std::vector<float> values;
    std::vector<double> targets;

    std::uint64_t rows() const noexcept { return targets.size(); }
    bool is_sparse() const noexcept { return !starts.empty(); }
};

// `count` divided into so many ranges, as evenly as can be, the larger ones first.
std::vector<scheduled::number_range> ranges_of(std::uint64_t count, std::uint32_t parts);

struct driven_run {
    scheduled::program program;
    capnp::AnyPointer::Reader settings; // valid as long as the driver
    scheduled::schedule_settings schedule;
    scheduled::stop_settings stop;
    bool unit_norm = false;
    std::uint64_t seed = 1;
    std::uint32_t workers = 1;
    std::uint32_t schedulers = 1;
    std::uint64_t phases_max = 100000;
    std::uint64_t rows_per_piece = 100;
    // In the place of rows: all of it is dealt to each worker (program::every_worker_has_all_rows).
    std::shared_ptr<scheduled::piece_source> source = {};
    std::optional<std::uint64_t>
        restart; // before this phase all parts are saved, made anew and loaded
    // Before phase `at` every worker is made anew, loaded with what it was at phase `from`, and passes the phases since.
    struct replay {
        std::uint64_t from = 0, at = 0;
    };
    std::optional<replay> replayed = {};
    std::optional<scheduled::carried_run> start = {}; // it goes on from this, of the same shape
};

struct driven_result {
    std::uint64_t phases = 0; // that have been folded
    bool is_done = false;
    std::vector<scheduled::standing> standings; // of all probes
    std::vector<std::uint64_t> contents;        // a hash of each phase's content
    std::vector<std::uint64_t> changes; // of each phase's changes, or of a probe's judgements
    std::vector<std::size_t>
        sizes; // elements of the first tensor of each phase's content; 0 of probes
    std::vector<scheduled::saved_part> saved; // of the schedulers, at the end
    std::vector<scheduled::saved_part> saved_workers;
    std::vector<scheduled::held_block> blocks; // by number; none if the variables do not rotate
};

class program_driver {
  public:
    // The rows must outlive it.
    program_driver(driven_run run, const matrix_rows& rows);

    // Once. What a part fails with ends the run.
    result<driven_result> run();

    // After run(): what another run goes on from, by the program's carry_over if it is of another shape.
    result<scheduled::carried_run> end() const;
    scheduled::carried_site carried_site() const { return {site(), shares()}; }

    scheduled::scheduler_part& scheduler(std::size_t i) { return *schedulers_.at(i); }
    scheduled::worker_part& worker(std::size_t i) { return *workers_.at(i); }
    scheduled::program_site site() const;

  private:
    result<void> make_parts();
    result<void> make_worker(std::uint32_t i);
    result<void> make_blocks();
    bool rotates() const { return run_.schedule.kind == scheduled::schedule_kind::rotation; }
    std::vector<scheduled::number_range> shares() const;
    result<void> deal(scheduled::worker_part& worker, const scheduled::number_range& share);
    result<void> deal_source(scheduled::worker_part& worker);
    result<std::vector<scheduled::payload>> compute(const scheduled::phase& p,
                                                    std::uint32_t scheduler);
    result<void> choose(std::uint64_t number);
    result<void> choose_possible(std::uint64_t folded);
    scheduled::staleness bound() const;
    result<void> apply_earlier(std::uint64_t number);
    result<void> fold(const scheduled::phase& p);
    result<void> fold_probe(const scheduled::phase& p);
    result<scheduled::payload> compute_one(const scheduled::phase& p, std::uint32_t worker,
                                           std::uint32_t scheduler);
    result<void> start_anew();
    result<void> keep_for_replay(const scheduled::phase& p);
    result<void> replay();
    result<void> load(const scheduled::carried_run& from);
    result<void> save_all();

    const driven_run run_;
    const matrix_rows& rows_;
    memory_pool memory_;
    std::unique_ptr<operations> operations_;
    std::vector<std::unique_ptr<scheduled::scheduler_part>> schedulers_;
    std::vector<std::unique_ptr<scheduled::worker_part>> workers_;
    std::deque<scheduled::phase> phases_;         // chosen, not folded
    std::uint64_t chosen_ = 0;                    // all phases below it have been chosen
    std::vector<scheduled::phase_deltas> deltas_; // of phases that workers have not applied
    struct kept_for_replay {
        std::vector<scheduled::saved_part> workers; // as they were at the first of the phases
        std::vector<scheduled::phase> phases;       // all since
        std::vector<scheduled::payload> changes;    // of all phases, if it begins with the first
    };
    kept_for_replay kept_;
    driven_result result_;
};

} // namespace troupe::test
