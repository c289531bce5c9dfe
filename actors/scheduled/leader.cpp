// The leader's course: from the first request to the result. leader_setup.cpp has what comes before the first phase,
// leader_losses.cpp what follows a loss.
#include "actors/scheduled/leader.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "actors/messages.hpp"
#include "actors/scheduled/result_mark.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::scheduled {

namespace {

const char* const course_names[] = {"spawning", "dealing", "starting",
                                    "running",  "writing", "finished"};

// As inspectors see it.
milestone_board::milestone shown(std::uint32_t number, duration since_start,
                                 const std::vector<named_number>& numbers) {
    milestone_board::milestone m{number, since_start, {}};
    for (const named_number& n : numbers)
        m.numbers.push_back({n.name, n.value});
    return m;
}

} // namespace

leader::leader(actor_context& context, leader_options options)
    : actor{context}, options_{std::move(options)}, cast_{options_.run}, devices_{options_.devices},
      dealer_{std::make_shared<share_dealer>(options_.data, options_.what.shares.rows)},
      commits_{options_.what.shares.rows.size() + options_.what.shares.variables.size()},
      work_{*this, [this](const std::string&, const error& why) { finish(why); }} {
    on<proto::Spawned>(&leader::spawned);
    on<proto::SpawnFailed>(&leader::spawn_failed);
    on<proto::PieceTaken>(&leader::piece_taken);
    on<proto::ProgramReady>(&leader::ready);
    on<proto::PhasesDone>(&leader::phases_done);
    on<proto::ProbeDone>(&leader::probe_done);
    on<proto::StateSaved>(&leader::state_saved);
    on<proto::ProgramEnded>(&leader::ended);
    on<proto::CommitDue>(&leader::commit_is_due);
    on<proto::TimeIsUp>(&leader::time_is_up);
    on<proto::StopRun>(&leader::stop);
    show_facts(facts_);
    show_milestones(report_.board);
    enter(course::spawning);
    facts_->set({{"commit", "none"}, {"losses", "0"}});
}

void leader::enter(course next) {
    course_ = next;
    facts_->set("course", course_names[static_cast<std::size_t>(next)]);
}

std::optional<std::size_t> leader::sender(std::uint32_t incarnation, const frame& f) {
    const message_age age = incarnation_.age_of(incarnation);
    if (age == message_age::past)
        return std::nullopt;
    const auto who = cast_.gone_with(f.from());
    if (age == message_age::current && who.size() == 1 && cast_.address_of(who[0]) == f.from())
        return who[0];
    reject("the sender is no actor of this run, or of another incarnation of it");
    return std::nullopt;
}

// ---- the run ----

void leader::mark(proto::Mark how) {
    frame_builder<proto::MarkPhase> message;
    message.body().setIncarnation(incarnation_.number);
    message.body().setMark(how);
    send(incarnation_.schedulers[0], std::move(message));
}

// What the run is to do besides its phases; asked for again in each incarnation.
void leader::go_for(wish what) {
    intent_.wish = what;
    if (!are_phases_under_way())
        return;                                           // begin() comes back to it
    const bool is_unsaved = commits_.latest() == nullptr; // then a loss means to begin anew
    if (what == wish::stop)
        mark(proto::Mark::STOP);
    else if (intent_.commit == commit_state::none && (what == wish::save_and_stop || is_unsaved)) {
        intent_.commit = commit_state::marked;
        mark(proto::Mark::SAVE);
    }
}

void leader::commit_is_due(proto::CommitDue::Reader body, const frame& f) {
    if (f.from() != self())
        return reject("only the leader tells itself so");
    if (!are_phases_under_way() || body.getIncarnation() != incarnation_.number)
        return;
    if (intent_.commit == commit_state::none && intent_.wish == wish::go_on) {
        intent_.commit = commit_state::marked;
        mark(proto::Mark::SAVE);
    }
    frame_builder<proto::CommitDue> due;
    due.body().setIncarnation(incarnation_.number);
    after(options_.between_commits, std::move(due));
}

void leader::time_is_up(proto::TimeIsUp::Reader, const frame& f) {
    if (f.from() != self())
        return reject("only the leader tells itself so");
    intent_.is_time_up = true;
    if (intent_.wish == wish::go_on)
        go_for(wish::stop);
}

void leader::phases_done(proto::PhasesDone::Reader body, const frame& f) {
    if (!sender(body.getIncarnation(), f))
        return;
    report_.phases = std::max(report_.phases, body.getNumber());
    tell(run_progress{.milestone = report_.milestones,
                      .done = report_.phases - std::min(report_.phases, report_.milestone_phase),
                      .pieces = 0,
                      .piece = "phases",
                      .elapsed = now() - report_.milestone_began,
                      .numbers = report_.numbers});
}

void leader::probe_done(proto::ProbeDone::Reader body, const frame& f) {
    if (!sender(body.getIncarnation(), f))
        return;
    const std::uint64_t phase = body.getNumber();
    if (report_.last_probe && phase <= *report_.last_probe)
        return; // computed again after a loss
    report_.last_probe = phase;
    report_.phases = std::max(report_.phases, phase + 1);
    report_.numbers = read_numbers(body.getNumbers());
    const bool stands_still =
        report_.still.is_reached(report_.numbers, options_.what.app.getStop().getGap());
    report_.numbers.push_back(
        {"phases", static_cast<double>(report_.phases), proto::NumberStyle::COUNT});
    tell(run_milestone{report_.milestones, report_.numbers});
    report_.board->reached(shown(report_.milestones, now() - report_.began, report_.numbers));
    if (stands_still)
        tell(run_note{standstill::sentence});
    ++report_.milestones;
    report_.milestone_began = now();
    report_.milestone_phase = report_.phases;
}

void leader::state_saved(proto::StateSaved::Reader body, const frame& f) {
    const auto who = sender(body.getIncarnation(), f);
    if (!who)
        return;
    auto state = read_state(body.getState(), f.tensors());
    if (!state)
        return reject(state.failure().message());
    const bool is_new = commits_.take(*who, std::move(*state));
    if (body.getLast()) {
        answers_.saved_ends.insert(*who);
        return end_if_over();
    }
    if (!is_new)
        return;
    facts_->set("commit", std::to_string(commits_.phase()));
    intent_.commit = commit_state::none;
    for (const actor_address scheduler : incarnation_.schedulers) {
        frame_builder<proto::CommitComplete> message;
        message.body().setIncarnation(incarnation_.number);
        message.body().setNumber(commits_.phase());
        send(scheduler, std::move(message));
    }
    if (options_.checkpoints)
        write_checkpoint();
}

void leader::write_checkpoint() {
    const auto commit =
        std::make_shared<saved_commit>(saved_commit{shape_of(options_.what), *commits_.latest()});
    intent_.commit = commit_state::writing;
    const auto folder = std::make_shared<std::string>();
    work_.submit(*options_.io, {.label = "save",
                                .work = [to = options_.checkpoints, commit,
                                         folder](compute_context&) -> result<void> {
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
                                        if (intent_.wish == wish::save_and_stop)
                                            go_for(wish::stop);
                                    }});
}

// ---- the end ----

void leader::ended(proto::ProgramEnded::Reader body, const frame& f) {
    const auto who = sender(body.getIncarnation(), f);
    if (!who)
        return;
    if (is_worker(*who) && !ends_with_workers(options_.what))
        return reject("a worker does not end the run");
    if (!are_phases_under_way())
        return; // an actor is lost: the end will be computed again
    auto state = read_state(body.getState(), f.tensors());
    if (!state)
        return reject(state.failure().message());
    if (!is_worker(*who))
        report_.bound = bound_reached(read_stop(options_.what.app.getStop()),
                                      {state->end.is_done, intent_.is_time_up, state->milestones,
                                       std::max(report_.phases, state->number)});
    answers_.ends.try_emplace(*who, std::move(*state));
    end_if_over();
}

// All have told what they end with, and, for the checkpoint, what they are at the end. A run that is stopped by hand has its
// checkpoint already.
void leader::end_if_over() {
    const bool also_workers = ends_with_workers(options_.what);
    const bool keeps_end = options_.checkpoints && !report_.failure;
    if (!are_phases_under_way() ||
        answers_.ends.size() < schedulers() + (also_workers ? workers() : 0) ||
        (keeps_end && !also_workers && answers_.saved_ends.size() < cast_.size()))
        return;
    enter(course::writing);
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

} // namespace

void leader::write_result() {
    if (!options_.what.app.hasResult() || !options_.what.what->write_result)
        return finish(report_.failure);
    struct output {
        result_site site;
        ended_run run;
        std::vector<std::string> files;
    };
    const auto out = std::make_shared<output>();
    static_cast<program_site&>(out->site) = site_of(options_.what, options_.io->memory());
    out->site.directory = options_.what.app.getResult().getDirectory().cStr();
    out->site.column_names = options_.data->column_names();
    out->site.row_names = options_.data->row_names();
    auto ended =
        run_of(std::exchange(answers_.ends, {}), workers(), options_.what.shares.blocks.size());
    if (!ended)
        return finish(ended.failure());
    out->run = std::move(*ended);
    work_.submit(
        *options_.io,
        {.work = [out, write = options_.what.what->write_result,
                  app = options_.what.app](compute_context&) -> result<void> {
             std::error_code failed;
             std::filesystem::create_directories(out->site.directory, failed);
             if (failed)
                 return error{errc::io, out->site.directory.string() + ": " + failed.message() +
                                            "; choose another result.directory"};
             if (auto marked = write_result_mark(out->site.directory,
                                                 app.getProgram().getName().cStr(), app.getData());
                 !marked)
                 return marked;
             auto files = write(out->site, out->run);
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

// Once: the run ends at the next phase that is chosen. Once more, or before the first phase: at once.
void leader::stop(proto::StopRun::Reader, const frame&) {
    const bool is_again = report_.failure.has_value();
    report_.failure = error{errc::cancelled, "stopped"};
    if (course_ == course::writing)
        return;
    if (is_again || !are_phases_under_way())
        return finish(report_.failure);
    go_for(options_.checkpoints ? wish::save_and_stop : wish::stop);
}

void leader::finish(std::optional<error> failure) {
    if (course_ == course::finished)
        return;
    enter(course::finished);
    work_.forget();
    if (failure && failure->code() == errc::cancelled)
        failure = error{errc::cancelled, report_.stopped_text()};
    for (const actor_address agent : cast_.agents()) {
        unwatch(agent);
        send(agent, release_message(run(), failure));
    }
    std::vector<std::string> remarks;
    if (!report_.bound.empty())
        remarks.push_back("stop." + report_.bound + " reached");
    if (report_.losses > 0)
        remarks.push_back(std::to_string(report_.losses) + (report_.losses == 1
                                                                ? " actor lost on the way"
                                                                : " actors lost on the way"));
    nlohmann::json json{{"result", report_.files}, {"phases", report_.phases}};
    if (!report_.bound.empty())
        json["ended_by"] = report_.bound;
    std::vector<std::string> lines;
    for (const std::string& file : report_.files)
        lines.push_back("result " + file);
    tell(run_finished{.failure = std::move(failure),
                      .saved = report_.checkpoint,
                      .milestones = report_.milestones,
                      .numbers = report_.numbers,
                      .remarks = std::move(remarks),
                      .actors = std::move(lines),
                      .json = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
    quit();
}

void leader::on_rejected(proto::Rejected::Reader body, const frame& f) {
    if (body.getGone())
        return; // on_down says why
    if (!cast_.gone_with(f.from()).empty())
        finish(read_failure(body).in("a message was refused"));
}

// Whoever waits for the end of the run must not wait for ever.
void leader::on_end() {
    finish(error{errc::lost, "the leader of the run ended unexpectedly"});
}

} // namespace troupe::scheduled
