// The leader's course while phases are computed. leader_setup.cpp has what comes before the first phase, leader_losses.cpp
// what follows a loss, leader_end.cpp what is saved, and the result.
#include "actors/scheduled/leader.hpp"

#include <algorithm>

#include "actors/messages.hpp"
#include "schemas/base/json.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::scheduled {

namespace {

// As inspectors see it.
milestone_board::milestone shown(std::uint32_t number, duration since_start,
                                 const std::vector<named_number>& numbers) {
    milestone_board::milestone m{number, since_start, {}};
    for (const named_number& n : numbers)
        m.numbers.push_back({n.name, n.value});
    return m;
}

frame_builder<proto::MarkPhase> mark_message(std::uint32_t incarnation, proto::Mark how) {
    frame_builder<proto::MarkPhase> message;
    message.body().setIncarnation(incarnation);
    message.body().setMark(how);
    return message;
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
    on<proto::WorkersReplaced>(&leader::workers_replaced);
    on<proto::PeerLost>(&leader::peer_lost);
    on<proto::LostPairsDue>(&leader::decide_pairs);
    on<proto::PhasesDone>(&leader::phases_done);
    on<proto::ProbeDone>(&leader::probe_done);
    on<proto::StateSaved>(&leader::state_saved);
    on<proto::ProgramEnded>(&leader::ended);
    on<proto::CommitDue>(&leader::commit_is_due);
    on<proto::TimeIsUp>(&leader::time_is_up);
    on<proto::WriteEnd>(&leader::write_end);
    on<proto::StopRun>(&leader::stop);
    show_facts(facts_);
    show_milestones(reached_.board);
    show_course();
    facts_->set({{"commit", "none"}, {"losses", "0"}});
}

std::optional<std::size_t> leader::sender(std::uint32_t incarnation, const frame& f) {
    const message_age age = incarnation_.age_of(incarnation);
    if (age == message_age::past)
        return std::nullopt;
    if (incarnation_.is_gone(f.from()))
        return std::nullopt; // it may not know yet that the run goes on without it
    const auto who = cast_.gone_with(f.from());
    if (age == message_age::current && who.size() == 1 && cast_.address_of(who[0]) == f.from())
        return who[0];
    reject("the sender is no actor of this run, or of another incarnation of it");
    return std::nullopt;
}

// ---- the run ----

// Wishes of the run besides its phases are asked for again in each incarnation.
void leader::go_for(wish what) {
    intent_.wish = what;
    if (!course_.are_phases_under_way())
        return;                                           // begin_if_ready() comes back to it
    const bool is_unsaved = commits_.latest() == nullptr; // then a loss means to begin anew
    if (what == wish::stop)
        send(incarnation_.schedulers[0], mark_message(incarnation_.number, proto::Mark::STOP));
    else if (intent_.commit == commit_state::none && is_unsaved) {
        intent_.commit = commit_state::marked;
        send(incarnation_.schedulers[0], mark_message(incarnation_.number, proto::Mark::SAVE));
    }
}

void leader::commit_is_due(proto::CommitDue::Reader body, const frame& f) {
    if (f.from() != self())
        return reject("only the leader tells itself so");
    if (!course_.are_phases_under_way() || body.getIncarnation() != incarnation_.number)
        return;
    if (intent_.commit == commit_state::none && intent_.wish == wish::go_on) {
        intent_.commit = commit_state::marked;
        send(incarnation_.schedulers[0], mark_message(incarnation_.number, proto::Mark::SAVE));
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
    reached_.phases = std::max(reached_.phases, body.getNumber());
    tell(run_progress{.milestone = reached_.milestones,
                      .done = reached_.phases - std::min(reached_.phases, reached_.milestone_phase),
                      .pieces = 0,
                      .piece = "phases",
                      .elapsed = now() - reached_.milestone_began,
                      .numbers = reached_.numbers});
}

void leader::probe_done(proto::ProbeDone::Reader body, const frame& f) {
    if (!sender(body.getIncarnation(), f))
        return;
    const std::uint64_t phase = body.getNumber();
    if (reached_.last_probe && phase <= *reached_.last_probe)
        return; // computed again after a loss
    reached_.last_probe = phase;
    reached_.phases = std::max(reached_.phases, phase + 1);
    reached_.numbers = read_numbers(body.getNumbers());
    const bool stands_still =
        reached_.still.is_reached(reached_.numbers, options_.what.app.getStop().getGap());
    reached_.numbers.push_back(
        {"phases", static_cast<double>(reached_.phases), proto::NumberStyle::COUNT});
    tell(run_milestone{reached_.milestones, reached_.numbers});
    reached_.board->reached(shown(reached_.milestones, now() - reached_.began, reached_.numbers));
    if (stands_still)
        tell(run_note{standstill::sentence(reached_.still.best())});
    ++reached_.milestones;
    reached_.milestone_began = now();
    reached_.milestone_phase = reached_.phases;
    if (!f.tensors().empty()) {
        files_.so_far.newest.emplace(f.tensors().begin(), f.tensors().end());
        write_so_far();
    }
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

void leader::on_rejected(proto::Rejected::Reader body, const frame& f) {
    if (body.getGone() || course_.now() == program_course::writing)
        return; // on_down says why; a run that is over cannot fail by it
    if (!cast_.gone_with(f.from()).empty())
        finish(read_failure(body).in("a message was refused"));
}

// A caller that waits for the end of the run must not wait for ever.
void leader::on_end() {
    finish(error{errc::lost, "the leader of the run ended unexpectedly"});
}

} // namespace troupe::scheduled
