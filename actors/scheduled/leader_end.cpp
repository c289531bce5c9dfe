// The leader writes checkpoints, and at the end of the run its result; and how the run ends.
#include <algorithm>
#include <functional>
#include <iterator>

#include "actors/messages.hpp"
#include "actors/scheduled/leader.hpp"
#include "actors/scheduled/part_call.hpp"
#include "actors/scheduled/result_folder.hpp"
#include "actors/scheduled/result_mark.hpp"
#include "schemas/base/json.hpp"

namespace troupe::scheduled {

namespace {

// The states with which schedulers have ended at a probe, when all save what they are a few phases later.
std::map<std::size_t, saved_state> ends_before(std::uint64_t phase,
                                               const std::map<std::size_t, saved_state>& ends) {
    std::map<std::size_t, saved_state> before = ends;
    std::erase_if(before, [&](const auto& end) { return end.second.number == phase; });
    return before;
}

// By member; workers come first. `blocks`: how many there have to be.
result<ended_run> run_of(std::map<std::size_t, saved_state> ends, std::size_t workers,
                         std::size_t blocks) {
    ended_run run;
    const std::uint64_t phase = ends.begin()->second.number;
    for (auto& [member, state] : ends) {
        if (member < workers && state.number != phase)
            return error{errc::protocol, "workers have ended at different phases"};
        (member < workers ? run.workers : run.schedulers).push_back(std::move(state.part));
        std::ranges::move(state.blocks, std::back_inserter(run.blocks));
    }
    std::ranges::sort(run.blocks, {}, &held_block::number);
    for (std::size_t b = 0; b < run.blocks.size(); ++b)
        if (run.blocks[b].number != b)
            return error{errc::protocol, "blocks are missing at the end of the run"};
    if (run.blocks.size() != blocks)
        return error{errc::protocol, "blocks are missing at the end of the run"};
    return run;
}

std::string end_is_unsaved(const error& why, const std::string& checkpoint) {
    return "the end of the run is not saved: " + why.message() + "; --resume goes on from " +
           (checkpoint.empty() ? "the beginning" : checkpoint);
}

std::string saved_text(const std::string& checkpoint) {
    return checkpoint.empty() ? "; no checkpoint is saved"
                              : "; " + checkpoint + " is saved, --resume goes on from it";
}

// Memory is exhausted; a part whose own limit is reached says itself what to use, as errc::usage.
error advised(const error& why, const std::string& more_memory) {
    if (why.code() != errc::exhausted)
        return why;
    return {why.code(),
            why.message() + "; use more nodes, each of which holds fewer rows" + more_memory};
}

} // namespace

std::string unwritten_end::missing() const {
    return std::string{result ? "the result" : ""} + (result && commit ? " and " : "") +
           (commit ? "the last checkpoint" : "");
}

std::optional<error> unwritten_end::failure() const {
    return result ? result_failure : needs_commit ? commit_failure : std::nullopt;
}

// While the phases go on, which need nothing that is on disk.
void leader::write_checkpoint() {
    const auto commit = std::make_shared<saved_commit>(
        saved_commit{shape_of(options_.what), *commits_.latest(), {}});
    intent_.commit = commit_state::writing;
    const auto folder = std::make_shared<std::string>();
    const auto deleted = std::make_shared<result<void>>();
    work_.submit(*options_.io,
                 {.label = "save",
                  .work = [to = options_.checkpoints, commit, folder,
                           deleted](compute_context&) -> result<void> {
                      auto saved = to->save(*commit);
                      if (!saved)
                          return saved.failure();
                      *folder = saved->string();
                      *deleted = to->delete_older();
                      return {};
                  },
                  .then =
                      [this, folder, deleted] {
                          files_.checkpoint = *folder;
                          intent_.commit = commit_state::none;
                          if (const auto failures = files_.disk.checkpoints.succeed(); failures > 0)
                              tell(run_note{written_again("checkpoints", failures)});
                          if (*deleted)
                              files_.disk.deletions.succeed();
                          else if (files_.disk.deletions.fail())
                              tell(run_note{older_stay(deleted->failure())});
                      },
                  .failed =
                      [this](const error& why) {
                          intent_.commit = commit_state::none;
                          if (!may_be_written_later(why))
                              return finish(why);
                          if (files_.disk.checkpoints.fail())
                              tell(run_note{goes_on_unwritten("a checkpoint", why,
                                                              next_is_tried(files_.checkpoint))});
                      }});
}

// ---- the end ----

void leader::ended(proto::ProgramEnded::Reader body, const frame& f) {
    const auto who = sender(body.getIncarnation(), f);
    if (!who)
        return;
    if (*who < workers() && !ends_with_workers(options_.what))
        return reject("a worker does not end the run");
    if (!course_.are_phases_under_way())
        return; // an actor is lost: the end will be computed again
    auto state = read_state(body.getState(), f.tensors());
    if (!state)
        return reject(state.failure().message());
    if (*who >= workers())
        intent_.bound = bound_reached(read_stop(options_.what.app.getStop()),
                                      {state->end.is_done, intent_.is_time_up, state->milestones,
                                       std::max(reached_.phases, state->number), reached_.numbers});
    answers_.ends.try_emplace(*who, std::move(*state));
    end_if_over();
}

// All have told what they end with, and, for the checkpoint, what they are at the end.
void leader::end_if_over() {
    const bool also_workers = ends_with_workers(options_.what);
    const bool keeps_end = options_.checkpoints != nullptr;
    if (!course_.are_phases_under_way() ||
        answers_.ends.size() < schedulers() + (also_workers ? workers() : 0) ||
        (keeps_end && !also_workers && answers_.saved_ends.size() < cast_.size()))
        return;
    course_.all_have_ended();
    show_course();
    if (reached_.milestones == 0) // no sweep says how far the run is
        for (const auto& [member, end] : answers_.ends)
            reached_.phases = std::max(reached_.phases, end.number);
    for (std::size_t w = 0; w < workers(); ++w)
        if (dealing_.wanted[w]) // nobody needs it any more, and its failure would be the run's
            part_with(w, {errc::cancelled, "the run is over"});
    if (keeps_end && also_workers) {
        std::vector<saved_state> all;
        for (const auto& [member, state] : answers_.ends)
            all.push_back(state);
        commits_.start_from(std::move(all));
    }
    files_.end = std::make_shared<unwritten_end>();
    if (keeps_end)
        files_.end->commit = saved_commit{shape_of(options_.what), *commits_.latest(),
                                          ends_before(commits_.phase(), answers_.ends)};
    files_.end->needs_commit = intent_.is_stopping;
    if (!options_.what.app.hasResult() || !options_.what.what->write_result) {
        files_.end->needs_commit = true;
    } else {
        auto ended =
            run_of(std::exchange(answers_.ends, {}), workers(), options_.what.shares.blocks.size());
        if (!ended)
            return finish(ended.failure());
        files_.end->result = std::move(*ended);
    }
    send(self(), frame_builder<proto::WriteEnd>{});
}

namespace {

result_site site_of_result(const leader_options& options) {
    result_site site;
    static_cast<program_site&>(site) = site_of(options.what, options.io->memory());
    site.directory = options.what.app.getResult().getDirectory().cStr();
    site.column_names = options.data->column_names();
    site.row_names = options.data->row_names();
    site.rows = options.data.get();
    return site;
}

using names_of_files = result<std::vector<std::string>>;

// `write` has the site with its data at the first row, and the folder that it writes into.
names_of_files write_files(const result_site& site, const std::string& mark,
                           const std::function<names_of_files(const result_site&)>& write) {
    return write_into_place(site.directory, mark, [&](const std::filesystem::path& into) {
        result_site hidden = site;
        hidden.directory = into;
        auto rewound = site.rows->rewind();
        return rewound ? write(hidden) : names_of_files{rewound.failure()};
    });
}

// Files that are there are not written again.
void write_what_is_missing(unwritten_end& end, const program& what, const result_site& site,
                           const std::string& mark, run_checkpoints* checkpoints) {
    end.result_failure = end.commit_failure = std::nullopt;
    if (end.result) {
        auto files = write_files(site, mark, [&](const result_site& into) {
            return call_part("write_result", [&] { return what.write_result(into, *end.result); });
        });
        if (!files) {
            end.result_failure = files.failure();
        } else {
            end.result.reset();
            files->emplace_back(result_mark_name);
            for (const std::string& file : *files)
                end.files.push_back((site.directory / file).string());
        }
    }
    if (!end.commit)
        return;
    auto saved = checkpoints->save(*end.commit);
    if (!saved) {
        end.commit_failure = saved.failure();
        return;
    }
    end.commit.reset();
    end.checkpoint = saved->string();
    // An older one that stays takes room, and is told while the run goes on.
    [[maybe_unused]] const auto deleted = checkpoints->delete_older();
}

} // namespace

// The newest, when none is being written and nobody is dealt rows: a later deal begins with the first one.
void leader::write_so_far() {
    const auto& write = options_.what.what->write_so_far;
    if (!options_.what.app.hasResult() || !write || course_.now() != program_course::running ||
        files_.so_far.now != written_so_far::state::idle || !files_.so_far.newest)
        return;
    files_.so_far.now = written_so_far::state::writing;
    const auto site = std::make_shared<result_site>(site_of_result(options_));
    work_.submit(
        *options_.io,
        {.label = "write so far",
         .work = [site, write, all = *std::exchange(files_.so_far.newest, {}), rows = options_.data,
                  mark = options_.result_mark](compute_context&) -> result<void> {
             const auto files = write_files(*site, mark, [&](const result_site& into) {
                 auto written = call_part("write_so_far", [&] { return write(into, all); });
                 return written ? names_of_files{std::vector<std::string>{}}
                                : names_of_files{written.failure()};
             });
             return files ? result<void>{} : files.failure();
         },
         .then =
             [this] {
                 files_.so_far.now = written_so_far::state::idle;
                 files_.disk.so_far.succeed();
                 write_so_far();
             },
         .failed =
             [this](const error& why) {
                 // A program that fails by itself would do so again.
                 files_.so_far.now = may_be_written_later(why) ? written_so_far::state::idle
                                                               : written_so_far::state::failed;
                 if (files_.disk.so_far.fail())
                     tell(run_note{goes_on_unwritten("what there is of the result", why,
                                                     "and writes the result at its end")});
             }});
}

void leader::write_end(proto::WriteEnd::Reader, const frame& f) {
    if (f.from() != self())
        return reject("only the leader tells itself so");
    if (course_.now() != program_course::writing)
        return;
    const auto site = std::make_shared<result_site>(files_.end->result ? site_of_result(options_)
                                                                       : result_site{});
    work_.submit(*options_.io, {.work = [end = files_.end, what = options_.what.what, site,
                                         mark = options_.result_mark, to = options_.checkpoints,
                                         rows = options_.data](compute_context&) -> result<void> {
                                    write_what_is_missing(*end, *what, *site, mark, to.get());
                                    return {};
                                },
                                .then = [this] { end_is_tried(); }});
}

// A result is there whether or not the end can be gone on from. What a run is stopped for is its checkpoint, too.
void leader::end_is_tried() {
    const unwritten_end& end = *files_.end;
    files_.result = end.files;
    if (!end.checkpoint.empty())
        files_.checkpoint = end.checkpoint;
    const std::optional<error> why = end.failure();
    if (why && !may_be_written_later(*why))
        return finish(why);
    if (!why) {
        if (end.commit_failure)
            tell(run_note{end_is_unsaved(*end.commit_failure, files_.checkpoint)});
        if (!files_.kept.empty())
            tell(run_note{written_after_all(std::exchange(files_.kept, {}))});
        return finish(intent_.failure);
    }
    if (!files_.disk.end.is_kept())
        let_actors_go(std::nullopt);
    if (!end.commit)
        options_.checkpoints.reset(); // so that another run may go on from the last one
    files_.kept = end.missing();
    const auto wait = files_.disk.end.keep(*why);
    if (!wait)
        return finish(given_up_unwritten(files_.kept, *why, saved_text(files_.checkpoint)));
    if (files_.disk.end.fail())
        tell(run_note{kept_unwritten(files_.kept, *why)});
    after(*wait, frame_builder<proto::WriteEnd>{});
}

// Once: the run ends at the next phase that is chosen, or, if it is over, when its result is written. Once more, before its
// first phase, or while it keeps what cannot be written: at once.
void leader::stop(proto::StopRun::Reader, const frame&) {
    if (!files_.kept.empty())
        return finish(stopped_unwritten(files_.kept, files_.disk.end.reason(),
                                        saved_text(files_.checkpoint)));
    const bool is_again = std::exchange(intent_.is_stopping, true);
    if (course_.now() == program_course::writing && !is_again)
        return;
    intent_.failure = error{errc::cancelled, "stopped"};
    if (is_again || !reached_.is_started)
        return finish(intent_.failure);
    go_for(wish::stop);
}

void leader::let_actors_go(const std::optional<error>& failure) {
    for (const actor_address agent : cast_.agents()) {
        unwatch(agent);
        send(agent, release_message(run(), failure));
    }
}

void leader::finish(std::optional<error> failure) {
    if (course_.now() == program_course::finished)
        return;
    course_.finish();
    show_course();
    work_.forget();
    if (failure && failure->code() == errc::cancelled && files_.kept.empty())
        failure = error{errc::cancelled, "stopped after " + reached_.text() + files_.found_text() +
                                             files_.onward_text()};
    else if (failure)
        failure = advised(*failure, options_.more_memory);
    if (!files_.disk.end.is_kept())
        let_actors_go(failure);
    std::vector<std::string> remarks;
    if (!intent_.bound.empty())
        remarks.push_back("stop." + intent_.bound + " reached");
    if (reached_.milestones == 0)
        remarks.push_back("after " + reached_.before_a_sweep());
    if (losses_.actors > 0)
        remarks.push_back(counted(losses_.actors, "actor") + " lost on the way");
    json ended{{"result", files_.result},
               {"phases", reached_.phases},
               {"nodes", cast_.agents().size()}}; // that are left
    if (!intent_.bound.empty())
        ended["ended_by"] = intent_.bound;
    std::vector<std::string> lines;
    for (const std::string& file : files_.result)
        lines.push_back("result " + file);
    tell(run_finished{.failure = std::move(failure),
                      .saved = files_.checkpoint,
                      .milestones = reached_.milestones,
                      .numbers = reached_.numbers,
                      .remarks = std::move(remarks),
                      .actors = std::move(lines),
                      .json = ended.dump()});
    quit();
}

} // namespace troupe::scheduled
