#include "actors/scheduled/scheduler_actor.hpp"

#include <algorithm>

#include "actors/scheduled/lost_peer.hpp"
#include "actors/scheduled/run_bounds.hpp"
#include "actors/scheduled/scheduler_compute.hpp"

namespace troupe::scheduled {

namespace {

constexpr std::uint64_t phases_between_reports = 64;
constexpr std::size_t numbers_in_handler_max = 256;
constexpr std::uint64_t log_share = 64; // of the device's memory, for the phases since a commit

} // namespace

scheduler_actor::scheduler_actor(actor_context& context, scheduler_actor_options options)
    : actor{context}, options_{std::move(options)}, ledger_{options_.shape},
      work_{*this, [this](const std::string&, const error& why) { quit(why); }} {
    on<proto::StartProgram>(&scheduler_actor::start);
    on<proto::BeginPhases>(&scheduler_actor::begin);
    on<proto::MarkPhase>(&scheduler_actor::mark);
    on<proto::CommitComplete>(&scheduler_actor::commit_complete);
    on<proto::ReplaceWorkers>(&scheduler_actor::replace_workers);
    on<proto::PhasePassed>(&scheduler_actor::phase_passed);
    on<proto::Partial>(&scheduler_actor::take_partial);
    on<proto::Deltas>(&scheduler_actor::take_deltas);
    last_took_.fill(duration::max());
    show_facts(facts_);
    facts_->set({{"phase", ""},
                 {"window", std::to_string(options_.shape.window)},
                 {"chosen", ""},
                 {"probes", ""},
                 {"kept", ""}});
    if (options_.shape.scheduler == 0)
        show_workers(progress_.board());
}

void scheduler_actor::show_progress() const {
    facts_->set({{"phase", std::to_string(ledger_.folded())},
                 {"probes", std::to_string(milestones_)},
                 {"kept", std::to_string(log_.size())}});
}

bool scheduler_actor::is_of_leader(const frame& f) {
    if (f.from() == options_.leader)
        return true;
    reject("only the leader of the run may send this");
    return false;
}

// ---- from the leader ----

void scheduler_actor::start(proto::StartProgram::Reader body, const frame& f) {
    if (!is_of_leader(f))
        return;
    auto to = run_incarnation::of(body);
    if (to.number <= run_.number || to.workers.size() != options_.shape.workers ||
        to.schedulers.size() != options_.shape.schedulers)
        return reject("not an incarnation of this run that can follow");
    if (!body.hasState() && run_.number > 0)
        return reject("a scheduler that has begun starts anew from a saved state only");
    auto state = read_state(body.getState(), f.tensors());
    if (!state)
        return reject(state.failure().message());
    phase_ledger ledger{options_.shape, state->number};
    if (auto fits = ledger.restore(state->phases, std::move(state->deltas)); !fits)
        return reject(fits.failure().message());
    work_.forget();
    run_ = std::move(to);
    watch_others();
    course_ = course::waiting;
    to_mark_ = phase_mark::none;
    has_sent_result_ = false;
    ledger_ = std::move(ledger);
    log_ = phase_log{{.bytes = options_.compute->memory().bytes_max() / log_share}, state->number};
    restored_ = std::move(state->phases);
    milestones_ = state->milestones;
    // A run that goes on with more sweeps, or with no bound of them, does not end where it would have.
    end_ = end_holds(state->end.is_done, milestones_, options_.stop) ? state->end : run_end{};
    progress_.start(state->number);
    show_progress();
    const auto kept = std::make_shared<saved_part>(std::move(state->part));
    work_.submit(*options_.compute,
                 {.label = "load",
                  .work = [part = options_.part, kept, number = state->number,
                           is_restored = body.hasState()](compute_context&) -> result<void> {
                      if (!is_restored)
                          return {};
                      return call_part("load", number, [&] { return part->load(*kept); });
                  },
                  .then =
                      [this] {
                          frame_builder<proto::ProgramReady> ready;
                          ready.body().setIncarnation(run_.number);
                          send(options_.leader, std::move(ready));
                      }});
}

void scheduler_actor::begin(proto::BeginPhases::Reader body, const frame& f) {
    if (!is_of_leader(f))
        return;
    if (body.getIncarnation() == run_.number && course_ != course::waiting) {
        log_.release_replays();
        return send_again_to_all();
    }
    if (body.getIncarnation() != run_.number || !work_.is_idle())
        return reject("this incarnation does not wait to begin");
    course_ = course::idle;
    for (phase& chosen : std::exchange(restored_, {}))
        give_out(std::move(chosen), phase_mark::none);
    go_on();
}

void scheduler_actor::mark(proto::MarkPhase::Reader body, const frame& f) {
    if (!is_of_leader(f))
        return;
    if (run_.age_of(body.getIncarnation()) != message_age::current)
        return;
    to_mark_ = std::max(to_mark_, static_cast<phase_mark>(body.getMark()));
}

// ---- messages of phases ----

template <class Body>
std::optional<phase_header> scheduler_actor::header_of(Body body) {
    const message_age age = run_.age_of(body.getIncarnation());
    if (age == message_age::past || course_ == course::ended)
        return std::nullopt;
    if (age == message_age::future || body.getMark() > proto::Mark::STOP) {
        reject("not of this incarnation of the run");
        return std::nullopt;
    }
    return phase_header{body.getNumber(), body.getProbe(), static_cast<phase_mark>(body.getMark())};
}

void scheduler_actor::take_partial(proto::Partial::Reader body, const frame& f) {
    if (run_.is_gone(f.from()))
        return;
    const auto worker = run_.worker(f.from());
    if (worker && !answered(*worker, body.getIncarnation(), body.getNumber()))
        return reject("phase " + std::to_string(body.getNumber()) + " has not been sent yet");
    const auto header = header_of(body);
    if (!header)
        return;
    if (!worker)
        return reject("the sender is no worker of this run");
    auto taken = ledger_.take_partial(*worker, *header, {f.tensors().begin(), f.tensors().end()});
    if (!taken)
        return reject(taken.failure().message());
    if (options_.shape.scheduler == 0)
        progress_.took(*worker, header->number);
    go_on();
}

void scheduler_actor::take_deltas(proto::Deltas::Reader body, const frame& f) {
    const auto header = header_of(body);
    if (!header)
        return;
    const auto scheduler = run_.scheduler(f.from());
    if (!scheduler)
        return reject("the sender is no scheduler of this run");
    auto taken = ledger_.take_deltas(*scheduler, *header, {f.tensors().begin(), f.tensors().end()});
    taken ? go_on() : reject(taken.failure().message());
}

namespace {

bool is_small(std::span<const payload> all) {
    std::size_t numbers = 0;
    for (const payload& p : all)
        for (const tensor& t : p)
            numbers += t.elements();
    return numbers <= numbers_in_handler_max;
}

} // namespace

// ---- the course of phases ----

void scheduler_actor::go_on() {
    while (course_ == course::idle) {
        const step next = ledger_.next();
        switch (next.what) {
        case step::wait:
            return;
        case step::schedule:
            schedule(next.number);
            break;
        case step::save:
            save();
            break;
        case step::stop:
            if (ledger_.owns(next.number))
                send_deltas(ledger_.header(next.number), {}); // the others do not know of it
            end();
            break;
        case step::pull:
            pull(next.number);
            break;
        case step::absorb:
            absorb(next.number);
            break;
        case step::judge:
            judge(next.number);
            break;
        case step::conclude:
            conclude(next.number);
            break;
        }
    }
}

result<scheduler_actor::choice> scheduler_actor::choose(scheduler_part& part, std::uint64_t number,
                                                        std::uint64_t seed,
                                                        const std::optional<rotation>& ring) {
    random_stream random{seed, number};
    auto chosen = call_part("schedule", number, [&] { return part.schedule(number, random); });
    if (!chosen)
        return chosen.failure();
    chosen->number = number;
    if (ring && ring->is_probe(number) != chosen->is_probe)
        return error{errc::usage,
                     "phase " + std::to_string(number) +
                         ": the last phase of a sweep of a rotation is a probe, and no "
                         "other; correct the program"};
    const auto described = call_part("describe", number, [&] { return part.describe(*chosen); });
    if (!described)
        return described.failure();
    return choice{std::move(*chosen), "phase " + std::to_string(number) + ": " + *described};
}

void scheduler_actor::schedule(std::uint64_t number) {
    compute<choice>(
        step::schedule, number, false,
        [part = options_.part, number, seed = options_.seed, ring = options_.shape.ring] {
            return choose(*part, number, seed, ring);
        },
        [this](choice& made) { send_chosen(std::move(made)); });
}

void scheduler_actor::send_chosen(choice made) {
    facts_->set("chosen", made.description);
    give_out(std::move(made.chosen), std::exchange(to_mark_, phase_mark::none));
}

void scheduler_actor::save() {
    compute<saved_part>(
        step::save, ledger_.folded(), false, [part = options_.part] { return part->save(); },
        [this](saved_part& part) {
            send_state(std::move(part), frame_builder<proto::StateSaved>{});
            ledger_.saved();
        });
}

// Together with the choice of the phase that becomes possible by it, if that is an own one.
void scheduler_actor::pull(std::uint64_t number) {
    struct pulled {
        payload changes;
        std::optional<choice> chosen;
    };
    const auto partials = ledger_.partials(number);
    const std::uint64_t next = options_.shape.bound().first_after(number);
    compute<pulled>(
        step::pull, number, is_small(partials),
        [part = options_.part, own = ledger_.own(number), deltas = ledger_.in_flight(number),
         all = std::vector<payload>{partials.begin(), partials.end()}, next,
         is_own = ledger_.becomes_possible(next, number), seed = options_.seed,
         ring = options_.shape.ring]() -> result<pulled> {
            auto changes = part->pull(own, deltas, all);
            if (!changes)
                return changes.failure();
            pulled made{std::move(*changes), {}};
            if (!is_own)
                return made;
            auto chosen = choose(*part, next, seed, ring);
            if (!chosen)
                return chosen.failure();
            made.chosen = std::move(*chosen);
            return made;
        },
        [this, number](pulled& made) {
            send_deltas(ledger_.header(number), made.changes);
            folded(std::move(made.changes));
            if (course_ == course::idle && made.chosen)
                send_chosen(std::move(*made.chosen));
        });
}

void scheduler_actor::absorb(std::uint64_t number) {
    struct nothing {};
    const phase_deltas deltas{number, ledger_.arrived_deltas(number)};
    compute<nothing>(
        step::absorb, number, is_small({&deltas.changes, 1}),
        [part = options_.part, deltas]() -> result<nothing> {
            auto absorbed = part->absorb(deltas);
            return absorbed ? result<nothing>{nothing{}} : absorbed.failure();
        },
        [this, changes = deltas.changes](nothing&) { folded(changes); });
}

void scheduler_actor::judge(std::uint64_t number) {
    const auto partials = ledger_.partials(number);
    compute<payload>(
        step::judge, number, false,
        [part = options_.part, number, deltas = ledger_.in_flight(number),
         all = std::vector<payload>{partials.begin(), partials.end()}] {
            return part->judge(number, deltas, all);
        },
        [this, number](payload& judgement) {
            send_deltas(ledger_.header(number), judgement);
            ledger_.judged(std::move(judgement));
        });
}

void scheduler_actor::conclude(std::uint64_t number) {
    const auto judgements = ledger_.judgements(number);
    compute<standing>(
        step::conclude, number, false,
        [part = options_.part, number,
         all = std::vector<payload>{judgements.begin(), judgements.end()}] {
            return part->conclude(number, all);
        },
        [this, number](standing& now) {
            ++milestones_;
            show_progress();
            // Nobody is told of those that were under way when the run was over.
            const bool is_of_run = options_.result_is_with_workers || end_.phase == 0;
            if (options_.shape.scheduler == 0 && is_of_run) {
                frame_builder<proto::ProbeDone> news;
                news.body().setIncarnation(run_.number);
                news.body().setNumber(number);
                write_numbers(news.body().initNumbers(static_cast<capnp::uint>(now.numbers.size())),
                              now.numbers);
                for (tensor& t : now.so_far)
                    news.attach(std::move(t));
                news.envelope().setWork(number);
                send(options_.leader, std::move(news));
            }
            concluded(number, now.is_done);
        });
}

void scheduler_actor::folded(payload changes) {
    ledger_.folded(std::move(changes));
    show_progress();
    const std::uint64_t done = ledger_.folded();
    if (options_.shape.scheduler == 0 && done % phases_between_reports == 0) {
        frame_builder<proto::PhasesDone> news;
        news.body().setIncarnation(run_.number);
        news.body().setNumber(done);
        send(options_.leader, std::move(news));
    }
    if (options_.stop.phases > 0 && done >= options_.stop.phases && !options_.ends_at_mark())
        end();
}

void scheduler_actor::watch_others() {
    for (const actor_address worker : run_.workers)
        watch(worker);
    for (const actor_address scheduler : run_.schedulers)
        if (scheduler != self())
            watch(scheduler);
}

void scheduler_actor::on_down(actor_address who, const error& why) {
    if (auto lost = lost_peer(runtime(), run_, who, why))
        send(options_.leader, std::move(*lost));
}

void scheduler_actor::on_rejected(proto::Rejected::Reader body, const frame& f) {
    // Any actor may write to this one. The end of one of the run is reported to the leader.
    const bool is_of_run = f.from() == options_.leader || run_.has(f.from());
    if (is_of_run && !body.getGone())
        quit(read_failure(body).in("a message was refused"));
}

} // namespace troupe::scheduled
