// What a leader writes: checkpoints, and at the end of the run its result; and how the run ends.
#include <algorithm>
#include <iterator>

#include "actors/messages.hpp"
#include "actors/scheduled/leader.hpp"
#include "actors/scheduled/part_call.hpp"
#include "actors/scheduled/result_mark.hpp"
#include "schemas/base/json.hpp"

namespace troupe::scheduled {

namespace {

// What schedulers have ended with at a probe, when all save what they are a few phases later.
std::map<std::size_t, saved_state> ends_before(std::uint64_t phase,
                                               const std::map<std::size_t, saved_state>& ends) {
    std::map<std::size_t, saved_state> before = ends;
    std::erase_if(before, [&](const auto& end) { return end.second.number == phase; });
    return before;
}

error end_is_unsaved(const error& why, const std::string& checkpoint) {
    return {why.code(), why.message() +
                            "; the end of the run is not saved, so that --resume goes on from " +
                            (checkpoint.empty() ? "the beginning" : checkpoint)};
}

// What is exhausted is memory; a part whose own limit is reached says itself what to use, as errc::usage.
error advised(const error& why, const std::string& more_memory) {
    if (why.code() != errc::exhausted)
        return why;
    return {why.code(),
            why.message() + "; use more nodes, each of which holds fewer rows" + more_memory};
}

} // namespace

// The result of a run that is over is written also where its last checkpoint cannot be; but whoever goes on by --resume must
// not take its end for saved.
void leader::write_checkpoint() {
    const bool is_last = course_.now() == run_course::writing;
    const auto commit = std::make_shared<saved_commit>(
        saved_commit{shape_of(options_.what), *commits_.latest(), {}});
    if (is_last)
        commit->ends = ends_before(commits_.phase(), answers_.ends);
    intent_.commit = commit_state::writing;
    const auto folder = std::make_shared<std::string>();
    work_.submit(
        *options_.io,
        {.label = "save",
         .work = [to = options_.checkpoints, commit, folder](compute_context&) -> result<void> {
             auto saved = to->save(*commit);
             if (!saved)
                 return saved.failure();
             *folder = saved->string();
             return {};
         },
         .then =
             [this, folder] {
                 report_.checkpoint = *folder;
                 intent_.commit = commit_state::none;
             },
         .failed =
             [this, is_last](const error& why) {
                 if (!is_last)
                     return finish(why);
                 tell(run_note{"the last checkpoint cannot be written; the result of the "
                               "run is written all the same"});
                 report_.failure = end_is_unsaved(why, report_.checkpoint);
             }});
}

// ---- the end ----

void leader::ended(proto::ProgramEnded::Reader body, const frame& f) {
    const auto who = sender(body.getIncarnation(), f);
    if (!who)
        return;
    if (is_worker(*who) && !ends_with_workers(options_.what))
        return reject("a worker does not end the run");
    if (!course_.are_phases_under_way())
        return; // an actor is lost: the end will be computed again
    auto state = read_state(body.getState(), f.tensors());
    if (!state)
        return reject(state.failure().message());
    if (!is_worker(*who))
        report_.bound = bound_reached(read_stop(options_.what.app.getStop()),
                                      {state->end.is_done, intent_.is_time_up, state->milestones,
                                       std::max(report_.phases, state->number), report_.numbers});
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
    if (report_.milestones == 0) // no sweep says how far the run is
        for (const auto& [member, end] : answers_.ends)
            report_.phases = std::max(report_.phases, end.number);
    for (std::size_t w = 0; w < workers(); ++w)
        if (dealing_.wanted[w]) // nobody needs it any more, and its failure would be the run's
            part_with(w, {errc::cancelled, "the run is over"});
    if (keeps_end && also_workers) {
        std::vector<saved_state> all;
        for (const auto& [member, state] : answers_.ends)
            all.push_back(state);
        commits_.start_from(std::move(all));
    }
    if (keeps_end)
        write_checkpoint();
    write_result();
}

namespace {

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

result_site site_of_result(const leader_options& options) {
    result_site site;
    static_cast<program_site&>(site) = site_of(options.what, options.io->memory());
    site.directory = options.what.app.getResult().getDirectory().cStr();
    site.column_names = options.data->column_names();
    site.row_names = options.data->row_names();
    site.rows = options.data.get();
    return site;
}

// The folder is there, and the run's; the data is at its first row.
result<void> open_result(const result_site& site, const std::string& mark) {
    std::error_code failed;
    std::filesystem::create_directories(site.directory, failed);
    if (failed)
        return error{errc::io, site.directory.string() + ": " + failed.message() +
                                   "; choose another result.directory"};
    if (auto marked = write_result_mark(site.directory, mark); !marked)
        return marked;
    return site.rows->rewind();
}

} // namespace

// The newest, when none is being written and nobody is dealt rows: a later deal begins with the first one.
void leader::write_so_far() {
    const auto& write = options_.what.what->write_so_far;
    if (!options_.what.app.hasResult() || !write || course_.now() != run_course::running ||
        report_.so_far.now != written_so_far::state::idle || !report_.so_far.newest)
        return;
    report_.so_far.now = written_so_far::state::writing;
    const auto site = std::make_shared<result_site>(site_of_result(options_));
    work_.submit(*options_.io,
                 {.label = "write so far",
                  .work = [site, write, all = *std::exchange(report_.so_far.newest, {}),
                           rows = options_.data,
                           mark = options_.result_mark](compute_context&) -> result<void> {
                      if (auto opened = open_result(*site, mark); !opened)
                          return opened;
                      return call_part("write_so_far", [&] { return write(*site, all); });
                  },
                  .then =
                      [this] {
                          report_.so_far.now = written_so_far::state::idle;
                          write_so_far();
                      },
                  .failed = [this](const error& why) { // the result may have another folder by then
                      report_.so_far.now = written_so_far::state::failed;
                      tell(run_note{"what there is of the result cannot be written while the "
                                    "run goes on: " +
                                    why.message()});
                  }});
}

void leader::write_result() {
    if (!options_.what.app.hasResult() || !options_.what.what->write_result)
        return work_.submit(*options_.io, // behind the checkpoint
                            {.work = [](compute_context&) -> result<void> { return {}; },
                             .then = [this] { finish(report_.failure); }});
    struct output {
        result_site site;
        ended_run run;
        std::vector<std::string> files;
    };
    const auto out = std::make_shared<output>();
    out->site = site_of_result(options_);
    auto ended =
        run_of(std::exchange(answers_.ends, {}), workers(), options_.what.shares.blocks.size());
    if (!ended)
        return finish(ended.failure());
    out->run = std::move(*ended);
    work_.submit(*options_.io,
                 {.work = [out, write = options_.what.what->write_result, rows = options_.data,
                           mark = options_.result_mark](compute_context&) -> result<void> {
                      if (auto opened = open_result(out->site, mark); !opened)
                          return opened;
                      auto files =
                          call_part("write_result", [&] { return write(out->site, out->run); });
                      if (!files)
                          return files.failure();
                      out->files = std::move(*files);
                      out->files.emplace_back(result_mark_name);
                      return {};
                  },
                  .then =
                      [this, out] {
                          for (const std::string& file : out->files)
                              report_.files.push_back((out->site.directory / file).string());
                          finish(report_.failure);
                      }});
}

// Once: the run ends at the next phase that is chosen, or, if it is over, when its result is written. Once more, or before
// its first phase: at once.
void leader::stop(proto::StopRun::Reader, const frame&) {
    const bool is_again = std::exchange(intent_.is_stopping, true);
    if (course_.now() == run_course::writing && !is_again)
        return;
    report_.failure = error{errc::cancelled, "stopped"};
    if (is_again || !report_.is_started)
        return finish(report_.failure);
    go_for(wish::stop);
}

void leader::finish(std::optional<error> failure) {
    if (course_.now() == run_course::finished)
        return;
    course_.finish();
    show_course();
    work_.forget();
    if (failure && failure->code() == errc::cancelled)
        failure = error{errc::cancelled, report_.stopped_text()};
    else if (failure)
        failure = advised(*failure, options_.more_memory);
    for (const actor_address agent : cast_.agents()) {
        unwatch(agent);
        send(agent, release_message(run(), failure));
    }
    std::vector<std::string> remarks;
    if (!report_.bound.empty())
        remarks.push_back("stop." + report_.bound + " reached");
    if (report_.milestones == 0)
        remarks.push_back("after " + report_.before_a_sweep());
    if (report_.losses > 0)
        remarks.push_back(counted(report_.losses, "actor") + " lost on the way");
    json ended{{"result", report_.files},
               {"phases", report_.phases},
               {"nodes", cast_.agents().size()}}; // that are left
    if (!report_.bound.empty())
        ended["ended_by"] = report_.bound;
    std::vector<std::string> lines;
    for (const std::string& file : report_.files)
        lines.push_back("result " + file);
    tell(run_finished{.failure = std::move(failure),
                      .saved = report_.checkpoint,
                      .milestones = report_.milestones,
                      .numbers = report_.numbers,
                      .remarks = std::move(remarks),
                      .actors = std::move(lines),
                      .json = ended.dump()});
    quit();
}

} // namespace troupe::scheduled
