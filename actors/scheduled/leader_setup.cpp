// The leader before the first phase, and after a loss: it asks for actors, deals the data, and starts an incarnation.
#include <algorithm>

#include "actors/messages.hpp"
#include "actors/scheduled/leader.hpp"

namespace troupe::scheduled {

namespace {

constexpr std::uint32_t pieces_unanswered_max = 4;

} // namespace

void leader::on_start() {
    listener_ = runtime().spawn_of_run<listening_actor>(run(), "reporter", self(),
                                                        std::ref(*options_.listener));
    if (options_.resume)
        go_on_from(std::move(*options_.resume));
    dealing_.wanted.assign(workers(), true);
    dealing_.pieces.assign(workers(), 0);
    std::vector<plan_device> in_use;
    for (std::size_t w = 0; w < workers(); ++w) {
        in_use.push_back(devices_.choose(in_use).value());
        cast_.add("worker-" + std::to_string(w), in_use.back());
    }
    for (std::size_t s = 0; s < schedulers(); ++s)
        cast_.add("scheduler-" + std::to_string(s), cast_.where(s % workers()));
    for (std::size_t member = 0; member < cast_.size(); ++member)
        ask_for(member);
}

// The commit of a checkpoint takes the place of the beginning.
void leader::go_on_from(std::vector<saved_state> commit) {
    options_.resume.reset();
    report_.checkpoint = options_.resumed_from;
    report_.milestones = commit.back().milestones;
    report_.phases = commit.back().number;
    report_.milestone_phase = report_.phases;
    // Where the bounds are as they were, the run ends with what it has ended with.
    const stop_settings stop = read_stop(options_.what.app.getStop());
    for (auto& [member, end] : std::exchange(options_.resumed_ends, {}))
        if (end_holds(end.end.is_done, end.milestones, stop))
            answers_.ends.emplace(member, std::move(end));
    commits_.start_from(std::move(commit));
}

// ---- spawning ----

void leader::ask_for(std::size_t member) {
    auto request = cast_.ask(member, is_worker(member) ? worker_role : scheduler_role);
    if (is_worker(member)) {
        request.body().setOptionsType(type_id_of<proto::ProgramWorkerOptions>());
        auto options = request.body().getOptions().initAs<proto::ProgramWorkerOptions>();
        write_run(options.initRun(), options_.what);
        options.setWorker(static_cast<std::uint32_t>(member));
        options.initRows().setFirst(options_.what.shares.rows[member].first);
        options.getRows().setCount(options_.what.shares.rows[member].count);
        options.setEntries(options_.what.shares.entries[member]);
    } else {
        request.body().setOptionsType(type_id_of<proto::SchedulerOptions>());
        auto options = request.body().getOptions().initAs<proto::SchedulerOptions>();
        write_run(options.initRun(), options_.what);
        options.setScheduler(static_cast<std::uint32_t>(member - workers()));
    }
    watch(cast_.agent_of(member));
    send(cast_.agent_of(member), std::move(request));
}

void leader::spawned(proto::Spawned::Reader body, const frame& f) {
    const auto answer = cast_.enter(body, f.from());
    if (!answer)
        return answer.failure().code() == errc::refused ? finish(answer.failure())
                                                        : reject(answer.failure().message());
    if (!answer->is_wanted) {
        const error why{errc::cancelled, "it is not needed any more"};
        return send(f.from(), end_message(run(), {answer->address}, why));
    }
    watch(answer->address);
    if (course_ == course::spawning && cast_.is_complete())
        deal();
}

void leader::spawn_failed(proto::SpawnFailed::Reader body, const frame& f) {
    const auto answer = cast_.refuse(body, f.from());
    if (!answer)
        return reject(answer.failure().message());
    if (answer->is_wanted)
        finish(read_failure(body.getFailure()));
}

// ---- dealing ----

void leader::deal() {
    enter(course::dealing);
    dealing_.source = dealing::source_state::reading;
    work_.submit(*options_.io,
                 {.work = [this_dealer = dealer_, wanted = dealing_.wanted](
                              compute_context&) { return this_dealer->begin(wanted); },
                  .then =
                      [this, round = dealing_.round] {
                          if (round != dealing_.round)
                              return;
                          dealing_.source = dealing::source_state::idle;
                          read_on();
                      }});
}

void leader::read_on() {
    if (course_ != course::dealing || dealing_.source == dealing::source_state::reading)
        return;
    if (dealing_.source == dealing::source_state::at_end) {
        if (dealing_.unanswered == 0)
            start_incarnation();
        return;
    }
    if (dealing_.unanswered >= pieces_unanswered_max)
        return;
    dealing_.source = dealing::source_state::reading;
    const auto read = std::make_shared<std::optional<share_dealer::dealt>>();
    work_.submit(*options_.io,
                 {.work = [this_dealer = dealer_, read](compute_context& context) -> result<void> {
                      auto next = this_dealer->next(context.memory);
                      if (!next)
                          return next.failure();
                      *read = std::move(*next);
                      return {};
                  },
                  .then =
                      [this, read, round = dealing_.round] {
                          if (round != dealing_.round)
                              return;
                          dealing_.source =
                              *read ? dealing::source_state::idle : dealing::source_state::at_end;
                          if (*read)
                              send_piece(std::move(**read));
                          read_on();
                      }});
}

void leader::send_piece(share_dealer::dealt piece) {
    frame_builder<proto::Piece> message;
    message.body().setNumber(dealing_.pieces[piece.worker]++);
    message.body().setLast(piece.is_last);
    for (tensor& t : piece.tensors)
        message.attach(std::move(t));
    ++dealing_.unanswered;
    send(cast_.address_of(piece.worker), std::move(message));
}

void leader::piece_taken(proto::PieceTaken::Reader, const frame& f) {
    const auto who = cast_.gone_with(f.from());
    if (who.size() != 1 || course_ != course::dealing || dealing_.unanswered == 0)
        return; // of one that the run has parted with
    --dealing_.unanswered;
    read_on();
}

// ---- incarnations ----

void leader::start_incarnation() {
    enter(course::starting);
    dealing_.wanted.assign(workers(), false);
    ++incarnation_.number;
    incarnation_.workers.clear();
    incarnation_.schedulers.clear();
    for (std::size_t m = 0; m < cast_.size(); ++m)
        (is_worker(m) ? incarnation_.workers : incarnation_.schedulers)
            .push_back(cast_.address_of(m));
    answers_.started.assign(cast_.size(), false);
    answers_.saved_ends.clear();
    // Schedulers that start at a phase behind the last probe do not come by it again.
    const bool is_behind = commits_.latest() != nullptr && !ends_with_workers(options_.what);
    std::erase_if(answers_.ends, [&](const auto& end) {
        return !is_behind || end.second.number >= commits_.phase();
    });
    const auto* states = commits_.latest();
    for (std::size_t m = 0; m < cast_.size(); ++m) {
        frame_builder<proto::StartProgram> message;
        auto body = message.body();
        body.setIncarnation(incarnation_.number);
        auto schedulers =
            body.initSchedulers(static_cast<capnp::uint>(incarnation_.schedulers.size()));
        for (capnp::uint s = 0; s < schedulers.size(); ++s)
            write_address(schedulers[s], incarnation_.schedulers[s]);
        auto all_workers = body.initWorkers(static_cast<capnp::uint>(workers()));
        for (capnp::uint w = 0; w < all_workers.size(); ++w)
            write_address(all_workers[w], incarnation_.workers[w]);
        std::vector<tensor> tensors;
        if (states != nullptr)
            write_state(body.initState(), (*states)[m], tensors);
        for (tensor& t : tensors)
            message.attach(std::move(t));
        send(cast_.address_of(m), std::move(message));
    }
}

void leader::ready(proto::ProgramReady::Reader body, const frame& f) {
    const auto who = sender(body.getIncarnation(), f);
    if (!who)
        return;
    if (course_ != course::starting)
        return; // another actor is lost: it will be asked to start again
    if (answers_.started[*who])
        return reject("the sender is ready already");
    answers_.started[*who] = true;
    if (std::ranges::count(answers_.started, false) == 0)
        begin();
}

// ---- losses ----

void leader::on_down(actor_address who, const error& why) {
    const std::vector<std::size_t> gone = cast_.gone_with(who);
    if (gone.empty() || course_ == course::writing || course_ == course::finished)
        return;
    if (why.code() != errc::lost) // a part that has failed would fail again
        return finish(why.in(cast_.describe(gone)));
    if (cast_.agent_of(gone.front()) == who)
        devices_.lose(who.node);
    const std::string carried = cast_.describe(gone);
    report_.losses += static_cast<std::uint32_t>(gone.size());
    facts_->set("losses", std::to_string(report_.losses));
    const std::string from = commits_.latest() == nullptr
                                 ? "the beginning"
                                 : "phase " + std::to_string(commits_.phase());
    std::vector<std::size_t> again = members_to_ask_again(gone);
    for (const std::size_t m : again)
        part_with(m, why);
    if (auto placed = place(again); !placed)
        return finish(error{errc::lost, why.message() + "; it carried " + carried + ", and " +
                                            placed.failure().message()});
    tell(run_note{why.message() + "; it carried " + carried + "; the run goes on from " + from +
                  " with " + cast_.describe(again)});
    enter(course::spawning);
    for (const std::size_t m : again)
        ask_for(m);
}

// Those that are gone, and those whose state is in no commit or whose data has not all been dealt.
std::vector<std::size_t> leader::members_to_ask_again(const std::vector<std::size_t>& gone) const {
    if (commits_.latest() == nullptr)
        return cast_.all();
    std::vector<std::size_t> again = gone;
    for (std::size_t w = 0; w < workers(); ++w)
        if (dealing_.wanted[w] && std::ranges::count(again, w) == 0)
            again.push_back(w);
    return again;
}

// It is asked for anew; if it is there it ends.
void leader::part_with(std::size_t member, const error& why) {
    if (const actor_address was = cast_.leave(member)) {
        unwatch(was);
        send(cast_.agent_of(member), end_message(run(), {was}, why));
    }
    if (is_worker(member)) {
        dealing_.wanted[member] = true;
        dealing_.pieces[member] = 0;
    }
    commits_.give_up_incomplete();
    if (intent_.commit == commit_state::marked)
        intent_.commit = commit_state::none; // one that is being written is complete
    ++dealing_.round;
    dealing_.source = dealing::source_state::idle;
    dealing_.unanswered = 0;
}

// Each worker on the device that carries the fewest, each scheduler beside a worker.
result<void> leader::place(const std::vector<std::size_t>& members) {
    std::vector<plan_device> in_use;
    for (std::size_t w = 0; w < workers(); ++w)
        if (std::ranges::count(members, w) == 0)
            in_use.push_back(cast_.where(w));
    const error nowhere{errc::lost,
                        "no node is left to go on; join nodes to the cluster and run again"};
    for (std::size_t m = 0; m < cast_.size(); ++m) {
        if (std::ranges::count(members, m) == 0)
            continue;
        const auto where = is_worker(m) ? devices_.choose(in_use)
                                        : std::optional{cast_.where((m - workers()) % workers())};
        if (!where)
            return nowhere;
        cast_.move(m, *where);
        if (is_worker(m))
            in_use.push_back(*where);
    }
    return {};
}

} // namespace troupe::scheduled
