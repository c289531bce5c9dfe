// The leader before the first phase of an incarnation: it asks for actors, deals the data, and starts an incarnation.
#include <algorithm>

#include "actors/messages.hpp"
#include "actors/scheduled/leader.hpp"
#include "schemas/base/json.hpp"
#include "schemas/base/nearest.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::scheduled {

namespace {

constexpr std::uint32_t pieces_unanswered_max = 4;

std::string placement_json(const cast& of, std::size_t workers) {
    json actors = json::array();
    for (const std::size_t m : of.all())
        actors.push_back({{"actor", (m < workers ? "worker-" : "scheduler-") +
                                        std::to_string(m < workers ? m : m - workers)},
                          {"node", of.where(m).node_name},
                          {"device", of.where(m).device}});
    return json{{"actors", std::move(actors)}}.dump();
}

std::string replay_text(const std::vector<std::size_t>& workers, std::uint64_t phases) {
    std::vector<std::string> names;
    for (const std::size_t w : workers)
        names.push_back("worker-" + std::to_string(w));
    return join(names) + (names.size() == 1 ? " replays " : " replay ") + counted(phases, "phase") +
           (names.size() == 1 ? "" : " each") + ", and all others keep what they have computed";
}

frame_builder<proto::Piece> piece_message(share_dealer::dealt piece, std::uint32_t number) {
    frame_builder<proto::Piece> message;
    message.body().setNumber(number);
    message.body().setLast(piece.is_last);
    for (tensor& t : piece.tensors)
        message.attach(std::move(t));
    return message;
}

} // namespace

void leader::on_start() {
    listener_ = runtime().spawn_of_run<listening_actor>(run(), "reporter", self(),
                                                        std::ref(*options_.listener));
    if (options_.resume) { // the commit of a checkpoint takes the place of the beginning
        commits_.start_from(std::move(*std::exchange(options_.resume, {})));
        files_.checkpoint = options_.resumed_from;
        reached_.milestones = commits_.latest()->back().milestones;
        reached_.phases = reached_.milestone_phase = commits_.phase();
        // Where the bounds are as they were, the run ends with what it has ended with.
        const stop_settings stop = read_stop(options_.what.app.getStop());
        for (auto& [member, end] : std::exchange(options_.resumed_ends, {}))
            if (end_holds(end.end.is_done, end.milestones, stop))
                answers_.ends.emplace(member, std::move(end));
    }
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

// ---- spawning ----

void leader::ask_for(std::size_t member) {
    auto request = cast_.ask(member, member < workers() ? worker_role : scheduler_role);
    if (member < workers()) {
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
    if (course_.is_spawning() && cast_.is_complete())
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

// Data that is read for an earlier round is read again, or not needed any more: it fails nothing.

void leader::deal() {
    course_.actors_are_there();
    show_course();
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
                      },
                  .failed =
                      [this, round = dealing_.round](const error& why) {
                          if (round == dealing_.round)
                              finish(why);
                      }});
}

void leader::read_on() {
    if (!course_.is_dealing() || dealing_.source == dealing::source_state::reading)
        return;
    if (dealing_.source == dealing::source_state::at_end) {
        if (dealing_.unanswered > 0)
            return;
        course_.data_is_dealt();
        show_course();
        return course_.is_of_lost_workers() ? start_lost_workers() : start_incarnation();
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
                          if (*read) {
                              const std::size_t w = (*read)->worker;
                              ++dealing_.unanswered;
                              send(cast_.address_of(w),
                                   piece_message(std::move(**read), dealing_.pieces[w]++));
                          }
                          read_on();
                      },
                  .failed =
                      [this, round = dealing_.round](const error& why) {
                          if (round == dealing_.round)
                              finish(why);
                      }});
}

void leader::piece_taken(proto::PieceTaken::Reader, const frame& f) {
    const auto who = cast_.gone_with(f.from());
    if (who.size() != 1 || !course_.is_dealing() || dealing_.unanswered == 0)
        return; // of one that the run has parted with
    --dealing_.unanswered;
    read_on();
}

// ---- incarnations ----

void leader::start_incarnation() {
    dealing_.wanted.assign(workers(), false);
    ++incarnation_.number;
    incarnation_.workers.clear();
    incarnation_.schedulers.clear();
    for (std::size_t m = 0; m < cast_.size(); ++m)
        (m < workers() ? incarnation_.workers : incarnation_.schedulers)
            .push_back(cast_.address_of(m));
    answers_.started.assign(cast_.size(), false);
    answers_.saved_ends.clear();
    // Schedulers that start at a phase behind the last probe do not come by it again.
    const bool is_behind = commits_.latest() != nullptr && !ends_with_workers(options_.what);
    std::erase_if(answers_.ends, [&](const auto& end) {
        return !is_behind || end.second.number >= commits_.phase();
    });
    for (std::size_t m = 0; m < cast_.size(); ++m)
        start(m);
}

// From the commit, if there is one.
void leader::start(std::size_t m) {
    answers_.started[m] = false;
    frame_builder<proto::StartProgram> message;
    auto body = message.body();
    body.setIncarnation(incarnation_.number);
    auto all_schedulers =
        body.initSchedulers(static_cast<capnp::uint>(incarnation_.schedulers.size()));
    for (capnp::uint s = 0; s < all_schedulers.size(); ++s)
        write_address(all_schedulers[s], incarnation_.schedulers[s]);
    auto all_workers = body.initWorkers(static_cast<capnp::uint>(workers()));
    for (capnp::uint w = 0; w < all_workers.size(); ++w)
        write_address(all_workers[w], incarnation_.workers[w]);
    std::vector<tensor> tensors;
    if (const auto* states = commits_.latest())
        write_state(body.initState(), (*states)[m], tensors);
    for (tensor& t : tensors)
        message.attach(std::move(t));
    send(cast_.address_of(m), std::move(message));
}

void leader::ready(proto::ProgramReady::Reader body, const frame& f) {
    const auto who = sender(body.getIncarnation(), f);
    if (!who || !course_.is_starting())
        return; // another actor is lost: it will be asked to start again
    const bool is_asked = !course_.is_of_lost_workers() || *who < workers();
    if (!is_asked || answers_.started[*who])
        return reject("the sender is ready already");
    answers_.started[*who] = true;
    begin_if_ready();
}

void leader::begin_if_ready() {
    if (std::ranges::count(answers_.started, false) > 0)
        return;
    const bool have_replaced = course_.is_of_lost_workers(); // all else goes on
    course_.all_are_ready();
    show_course();
    for (const actor_address scheduler : incarnation_.schedulers) {
        frame_builder<proto::BeginPhases> message;
        message.body().setIncarnation(incarnation_.number);
        send(scheduler, std::move(message));
    }
    write_so_far();
    if (have_replaced)
        return tell(run_note{replay_text(answers_.lost_workers, answers_.replayed)});
    if (!reached_.is_started) {
        reached_.is_started = true;
        reached_.began = reached_.milestone_began = now();
        tell(run_started{.nodes = static_cast<std::uint32_t>(cast_.agents().size()),
                         .milestone = "sweep",
                         .milestones = static_cast<std::uint32_t>(
                             std::min<std::uint64_t>(options_.what.app.getStop().getSweeps(), ~0u)),
                         .plan = cast_.describe(cast_.all()),
                         .plan_json = placement_json(cast_, workers()),
                         .notes = {},
                         .resumed_from = options_.resumed_from});
        if (const double seconds = options_.what.app.getStop().getSeconds(); seconds > 0)
            after(duration{static_cast<std::int64_t>(seconds * 1e9)},
                  frame_builder<proto::TimeIsUp>{});
    }
    go_for(intent_.wish);
    frame_builder<proto::CommitDue> due;
    due.body().setIncarnation(incarnation_.number);
    after(options_.between_commits, std::move(due));
}

} // namespace troupe::scheduled
