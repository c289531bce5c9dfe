// A program of scheduled parameters: what a user writes, and the actors of this folder run. Variables are divided among
// schedulers, the data among workers. The run is a sequence of numbered phases. In each, a scheduler chooses what is updated
// together (`schedule`), all workers compute for it on their shares of the data (`push`), and the scheduler folds what comes
// back into the variables (`pull`). Phase k is scheduler k mod S's.
//
// Staleness: a worker computes phase k when it has applied the deltas of exactly the phases below k - window, in order; the
// deltas of the `window` phases before k are in flight, and `pull` is given them. This depends on no timing: the same seed,
// workers, schedulers and window give the same bits, whatever the network does and whoever is lost and replaced. Where
// variables rotate the window counts turns (staleness.hpp).
//
// A probe is a phase that changes nothing: every worker computes a part of it for every scheduler (`probe`), each scheduler
// judges its part (`judge`), and from the judgements of all each of them concludes the same (`conclude`): how good the
// variables are, and whether the run is over.
//
// Least squares by coordinate descent, one variable at a time, without intercept:
//
//     class one_at_a_time final : public scheduler_part {
//         result<phase> schedule(std::uint64_t number, random_stream& random) override {
//             if (number % 1000 == 999)
//                 return phase{number, true, {}};
//             const std::int64_t chosen[] = {static_cast<std::int64_t>(random.below(columns_))};
//             auto content = payload_of(memory_, std::span{chosen});
//             if (!content)
//                 return content.failure();
//             return phase{number, false, std::move(*content)};
//         }
//         result<payload> pull(const phase& p, in_flight, std::span<const payload> partials) override {
//             double product = 0, square = 0;                  // x_j' r and x_j' x_j, over all rows
//             for (const payload& partial : partials) ...
//             return payload_of(memory_, chosen, delta);
//         }
//         ...
//     class rows final : public worker_part {
//         result<payload> push(const phase& p, compute_context&) override;              // x_j' r, x_j' x_j of its rows
//         result<void> apply(const phase_deltas& deltas) override;                      // r -= x_j delta
//         ...
//
// Variables may be with the workers instead, in blocks that pass from one worker to the next (schedule: rotation,
// rotation.hpp): then a phase is a turn, in which each worker changes the block that it has (`turn`), and push and pull
// are for what all share: the totals of a topic model, for example. There is one scheduler, and the last phase of each
// sweep is a probe.
//
// If a worker is lost, its rows are dealt to a new one, which is loaded with what the lost one saved last and replays the
// phases since (`apply`, `pass`), while all others keep what they have. If a scheduler is lost, or if the variables rotate,
// all are loaded with what they saved last.
//
// Each worker may have all of the data instead of a share of it (program::every_worker_has_all_rows): several searches for
// the same, for example, that tell each other what they have found.
//
// Threads: a part is called by one thread at a time, its actor's or a device's; it starts no threads, and reads neither
// clock nor files. Ownership: tensors in payloads are immutable once they have been handed over; they are in host memory.
// Errors: a failure that a part returns, or an exception that it throws, ends the run with a sentence. What comes from other
// actors may be of another build: parts check number, types and sizes of the tensors in payloads before they use them.
//
// Source: STRADS, "Primitives for dynamic big model parallelism", Lee et al., NIPS 2014; the staleness, which is of a
// fixed size here, and the correction for phases in flight are Troupe's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <capnp/any.h>
#include <capnp/schema.h>

#include "actors/data/matrix/data_rule.hpp"
#include "actors/run/run_events.hpp"
#include "actors/scheduled/payload.hpp"
#include "actors/scheduled/rotation.hpp"
#include "actors/scheduled/run_settings.hpp"
#include "kernels/device/device.hpp"
#include "schemas/base/error.hpp"
#include "schemas/base/random.hpp"

namespace troupe::scheduled {

class piece_source; // data_pieces.hpp
using city_opener = std::function<result<std::shared_ptr<piece_source>>(const std::string& file)>;

struct phase {
    std::uint64_t number = 0;
    bool is_probe = false;
    payload content; // what every worker is told
};

// The changes that a phase has made; a probe makes none.
struct phase_deltas {
    std::uint64_t number = 0;
    payload changes;
};

// The deltas of the phases number - window to number - 1, in order, or of a rotation from turn - window to there: known to
// the one who pulls phase `number`, and not yet applied by the workers that computed it.
using in_flight = std::span<const phase_deltas>;

// The outcome of a probe.
struct standing {
    std::vector<named_number> numbers; // of this milestone: objective, gap
    // The run is over: what stop.gap asks for is reached, or stop.length by the number "length", or stop.iterations.
    bool is_done = false;
    payload so_far = {}; // for program::write_so_far, if there is something new
};

// State by names that are unique within a part. Everything that differs from a newly made part must be in it.
struct saved_part {
    std::vector<std::string> names;
    std::vector<tensor> tensors; // one for each name
};

// A block of variables that rotates, and that a worker has.
struct held_block {
    std::uint32_t number = 0;
    std::uint64_t turn = 0; // in which it is computed with (rotation.hpp)
    payload content;        // nobody else holds these tensors: they may be written, or replaced
};

// The description that inspectors show for a phase whose part does not describe it.
inline std::string plain_description(const phase& p) {
    if (p.is_probe)
        return "probe";
    return std::to_string(p.content.size()) + (p.content.size() == 1 ? " tensor" : " tensors");
}

class scheduler_part {
  public:
    virtual ~scheduler_part() = default;

    // The phase of this number, which is this scheduler's. Called in order, when all phases below number - window have been
    // pulled or absorbed, and no others. `random` depends on the run's seed and on the number alone.
    virtual result<phase> schedule(std::uint64_t number, random_stream& random) = 0;

    // Folds the partial results of all workers, in their order, into the variables, and returns what has changed. Called in
    // the order of phases.
    virtual result<payload> pull(const phase& p, in_flight deltas,
                                 std::span<const payload> partials) = 0;
    // A phase of another scheduler has been pulled. Called in the order of phases, between the calls of pull.
    virtual result<void> absorb(const phase_deltas& /*deltas*/) { return {}; }

    // This scheduler's part of a probe, for all schedulers, from what each worker's `probe` has computed for it.
    virtual result<payload> judge(std::uint64_t number, in_flight deltas,
                                  std::span<const payload> partials) = 0;
    // From the judgements of all schedulers, in their order; takes the place of pull for a probe. All conclude the same.
    virtual result<standing> conclude(std::uint64_t number,
                                      std::span<const payload> judgements) = 0;

    // A phase that it has just chosen, for inspectors: "3 variables, 17 to 90". Called for every phase, so it should cost a
    // few microseconds at most; what does not fit is cut (fact_board::text_bytes_max).
    virtual std::string describe(const phase& p) const { return plain_description(p); }

    virtual result<saved_part> save() const = 0;
    // Called for a newly made part with the same site as the one that was saved.
    virtual result<void> load(const saved_part& saved) = 0;
};

class worker_part {
  public:
    virtual ~worker_part() = default;

    // A piece of its share of the data, in the order of rows (data_pieces.hpp); the last one is followed by
    // data_is_complete.
    virtual result<void> take_data(const payload& piece) = 0;
    virtual result<void> data_is_complete() = 0;

    virtual result<void> apply(const phase_deltas& deltas) = 0; // each phase's once, in order
    virtual result<payload> push(const phase& p, compute_context& context) = 0;
    // Computes what a scheduler needs of this worker for a probe; called once for each of them, in order.
    virtual result<payload> probe(const phase& p, std::uint32_t scheduler,
                                  compute_context& context) = 0;

    // ---- if the variables rotate ----
    // A block that nobody has computed with, for the worker that has it first. Depends on nothing but site and number.
    virtual result<payload> make_block(std::uint32_t /*block*/) { return does_not_rotate(); }
    // In the place of push: computes with the block, and changes it.
    virtual result<payload> turn(const phase& /*p*/, held_block& /*block*/,
                                 compute_context& /*context*/) {
        return does_not_rotate();
    }

    // In the place of push, or of probe for all schedulers, for a phase that has been folded: of a worker that takes the
    // place of a lost one. What later results depend on changes as it does there; nothing else is computed. As it stands
    // here the phase is computed, and its results are dropped. A part that changes in `apply` alone overrides it to do
    // nothing, which pays: the run waits while the new worker passes all phases since the last commit.
    virtual result<void> pass(const phase& p, std::uint32_t schedulers, compute_context& context) {
        for (std::uint32_t s = 0; s < (p.is_probe ? schedulers : 1); ++s)
            if (auto partial = p.is_probe ? probe(p, s, context) : push(p, context); !partial)
                return partial.failure();
        return {};
    }

    // A phase that it has just computed, for inspectors, as above.
    virtual std::string describe(const phase& p) const { return plain_description(p); }

    // State that follows from the data need not be saved.
    virtual result<saved_part> save() const = 0;
    // Called after data_is_complete.
    virtual result<void> load(const saved_part& saved) = 0;

  private:
    static error does_not_rotate() {
        return {errc::usage, "the variables of this program do not rotate"};
    }
};

// The site that a part is made from. Readers are valid during the call of the maker only.
struct program_site {
    capnp::AnyPointer::Reader settings; // a struct of the program's schema
    schedule_settings schedule;
    stop_settings stop;
    memory_pool* memory = nullptr; // for the payloads that the part makes; outlives it
    bool unit_norm = false;        // data.scale: every column is divided by its Euclidean norm
    std::uint64_t seed = 0;
    data_shape data; // of the whole run
    std::uint32_t workers = 0;
    std::vector<number_range> variables; // of each scheduler; without gaps from 0 on
    std::vector<number_range> blocks; // of each block, the same; empty if variables do not rotate

    rotation ring() const noexcept { return {workers, schedule.blocks_per_worker}; }
};

struct scheduler_site : program_site {
    std::uint32_t scheduler = 0;
};

struct worker_site : program_site {
    std::uint32_t worker = 0;
    number_range rows;         // of this worker
    std::uint64_t entries = 0; // in these rows
};

// The site of a result: files in a folder that exists.
struct result_site : program_site {
    std::filesystem::path directory;
    std::vector<std::string> column_names; // empty: they have none
    std::vector<std::string> row_names;    // likewise
    piece_source* rows = nullptr; // the data of the run, at the first row; errors are handed on
};

// The states that the parts of a run have saved last.
struct ended_run {
    std::vector<saved_part> schedulers; // in their order
    // Only if the program keeps something with its workers.
    std::vector<saved_part> workers; // in their order
    std::vector<held_block> blocks;  // in the order of their numbers
};

// The states of a run's parts at a phase, for another run to go on from: all phases below it have been folded. Those that
// were under way are dropped.
struct carried_run {
    std::uint64_t phase = 0;
    std::vector<saved_part> schedulers; // in their order
    std::vector<saved_part> workers;    // in their order
    // Deltas that the workers have not applied: each worker does, in order, as soon as its part has been loaded.
    std::vector<phase_deltas> unapplied;
};
struct carried_site : program_site {
    std::vector<number_range> rows; // of each worker
};

// A result that a run has left behind, to be used on data: the run's or other data. Both may be of anybody: what the files
// say is checked as it is read, and the data may have other columns. Its workers, variables and blocks are of no run.
struct result_use : program_site {
    std::filesystem::path directory;       // what write_result wrote
    piece_source* rows = nullptr;          // of the data, at the first one; errors are handed on
    bool has_other_data = false;           // given in the place of what the app file names
    std::vector<std::string> column_names; // empty: they have none
};

// Predictions of a program, as lines of a table: each begins with texts, such as the names of what is predicted, and numbers
// follow. All lines have as many of both.
class prediction_table {
  public:
    virtual ~prediction_table() = default;

    virtual result<void> begin(const std::vector<std::string>& columns) = 0; // once, first
    // A text for each of the first columns, and a number for each of the others. Errors: it cannot be written.
    virtual result<void> add(std::span<const std::string> texts,
                             std::span<const double> numbers) = 0;
};

// A key of the app file that has no effect beside the others, or is hardly intended: "program.lda.proposals".
struct doubtful_key {
    std::string path;
    std::string why; // a sentence
};

// A row of the table of programs.
struct program {
    std::string name; // the key under `program` in app files
    std::string doc;
    capnp::StructSchema settings;
    // Checks what the schema cannot, before memory is taken; errors are "KEY: SENTENCE", the key below the program's, or
    // one of the app file that begins with "data", "schedule" or "stop". May be empty.
    std::function<result<void>(const program_site&)> check;
    // The rule for its matrix, by the settings alone: before anything is computed, and with file and line in errors. May be
    // empty, or return null.
    std::function<std::unique_ptr<data_rule>(const program_site&)> data_rule_of = {};
    // Doubtful keys that the app file gives become notes. May be empty.
    std::function<std::vector<doubtful_key>(const program_site&)> doubts = {};
    // Whether nodes whose processors have different instruction sets give other bits, by the settings and the data's shape:
    // a run on such nodes notes it. Empty: they never do.
    std::function<bool(const program_site&)> has_bits_of_processor = {};
    std::function<result<std::unique_ptr<scheduler_part>>(const scheduler_site&)> make_scheduler;
    std::function<result<std::unique_ptr<worker_part>>(const worker_site&)> make_worker;
    // Writes the result into the site's directory, from where the run moves it into its place once it is whole
    // (result_folder.hpp). Returns the names of the files. Called again after errc::io: a full disk. Blocks on files.
    std::function<result<std::vector<std::string>>(const result_site&, const ended_run&)>
        write_result;
    // Writes what there is of the result while the run goes on, over what was written before; the site is write_result's.
    // Its files are moved into place as the result is, which replaces them. Empty: nothing is written before the end.
    // Blocks on files.
    std::function<result<void>(const result_site&, const payload& so_far)> write_so_far = {};
    bool needs_targets = true;              // each row of the data must have one
    bool every_worker_has_all_rows = false; // in the place of a share each
    // Opens data.tsplib, whose cities are for programs that have this, and that take no other data: with a row for each
    // city, in pieces as its own workers know them. Blocks on files. Errors: as those of files of data, "FILE: line N:
    // SENTENCE".
    city_opener open_cities = {};
    // Schedules that it runs with; the first is recommended where another one is given.
    std::vector<schedule_kind> schedules = {schedule_kind::dynamic, schedule_kind::cyclic};
    // Bounds that the program says to have been reached (standing::is_done), beside stop.gap: others are refused.
    std::vector<stop_bound> bounds = {};
    // Part of the result is with the workers: they save what they are when the run ends, too, which is at a phase after
    // the probe that concludes it. With a rotation it is always so.
    bool result_is_with_workers = false;
    // `troupe evaluate`: how well the result fits the data, which has targets if the program needs them. Numbers by name,
    // for each solution that the result has: for every lambda of a path. Empty: the program does not say. Blocks on
    // files.
    std::function<result<std::vector<std::vector<named_number>>>(const result_use&)> score = {};
    // `troupe predict`: a line for each row of the data, in order, or for whatever else is predicted. Targets are not to
    // be looked at: those of data without any are zeros. Empty: the program predicts nothing. Blocks on files.
    std::function<result<void>(const result_use&, prediction_table&)> predict = {};
    // `troupe run --resume` with another window, with other numbers of schedulers or workers, or, after the program has
    // said that the run is done, with other bounds: makes of what the parts of the run `before` were what those of the
    // run `now` are loaded from. That one goes on with run.phase, which may be raised; its phases below count as ones that
    // changed nothing. Pure. errc::usage with what has to be as it was. Empty: a run goes on as the same alone.
    std::function<result<void>(const carried_site& before, const carried_site& now,
                               carried_run& run)>
        carry_over = {};
    std::string module_sha256 = {}; // of its module's file; empty: it is part of troupe
    // Whether it can do with the columns of a matrix less a number each (piece_source::offsets), as a model with an
    // intercept can. Where it is not empty, rows that a result is used on (result_use) may always be such. Empty: it cannot.
    std::function<bool(const program_site&)> takes_offsets = {};
    // Whether it takes what float32 leaves of a matrix's numbers (matrix_piece::remainders).
    bool takes_remainders = false;
};

using program_table = std::vector<program>;

// Makers of parts that need no more than their site.
template <class Part>
result<std::unique_ptr<scheduler_part>> scheduler_of(const scheduler_site& site) {
    return std::unique_ptr<scheduler_part>{std::make_unique<Part>(site)};
}
template <class Part>
result<std::unique_ptr<worker_part>> worker_of(const worker_site& site) {
    return std::unique_ptr<worker_part>{std::make_unique<Part>(site)};
}

// The settings that a part of this site is made with: what `read` finds, if `check` (program::check) accepts them.
template <class Settings>
result<Settings> checked_settings(const program_site& site,
                                  result<Settings> (*read)(capnp::AnyPointer::Reader),
                                  result<void> (*check)(const program_site&)) {
    auto settings = read(site.settings);
    if (!settings)
        return settings.failure();
    if (auto fits = check(site); !fits)
        return fits.failure();
    return settings;
}

} // namespace troupe::scheduled
