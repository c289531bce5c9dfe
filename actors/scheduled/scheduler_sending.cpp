// The scheduler's messages about its phases and its state, and where the run stops.
#include <algorithm>
#include <array>

#include "actors/scheduled/run_bounds.hpp"
#include "actors/scheduled/scheduler_compute.hpp"

namespace troupe::scheduled {

void scheduler_actor::give_out(phase chosen, phase_mark mark) {
    if (is_last(chosen.number))
        mark = phase_mark::stop;
    const phase_deltas* due = ledger_.due_with(chosen.number);
    logged_phase given_out{chosen, mark, due != nullptr ? due->changes : payload{}};
    for (std::uint32_t w = 0; w < run_.workers.size(); ++w)
        if (!log_.replays(w))
            send_phase(w, given_out, false);
    ledger_.scheduled(std::move(chosen), mark);
    if (options_.shape.ring)
        return;
    log_.add(std::move(given_out));
    send_again_to_all();
}

void scheduler_actor::send_phase(std::uint32_t worker, const logged_phase& p, bool is_folded) {
    frame_builder<proto::Phase> message;
    auto body = message.body();
    body.setIncarnation(run_.number);
    body.setNumber(p.sent.number);
    body.setProbe(p.sent.is_probe);
    body.setMark(static_cast<proto::Mark>(p.mark));
    body.setContent(static_cast<std::uint16_t>(p.sent.content.size()));
    body.setFolded(is_folded);
    message.envelope().setWork(p.sent.number);
    message.envelope().setStateVersion(ledger_.folded());
    for (const tensor& t : p.sent.content)
        message.attach(t);
    for (const tensor& t : p.due)
        message.attach(t);
    send(run_.workers[worker], std::move(message));
}

void scheduler_actor::send_deltas(const phase_header& of, const payload& deltas) {
    for (std::uint32_t s = 0; s < run_.schedulers.size(); ++s) {
        if (s == options_.shape.scheduler)
            continue;
        frame_builder<proto::Deltas> message;
        auto body = message.body();
        body.setIncarnation(run_.number);
        body.setNumber(of.number);
        body.setProbe(of.is_probe);
        body.setMark(static_cast<proto::Mark>(of.mark));
        message.envelope().setWork(of.number);
        for (const tensor& t : deltas)
            message.attach(t);
        send(run_.schedulers[s], std::move(message));
    }
}

template <class Message>
void scheduler_actor::send_state_in(saved_part part, frame_builder<Message> message) {
    message.body().setIncarnation(run_.number);
    saved_state state{.number = ledger_.folded(),
                      .part = std::move(part),
                      .phases = ledger_.own_phases(),
                      .deltas = ledger_.recent_deltas(),
                      .milestones = milestones_,
                      .blocks = {},
                      .end = end_};
    std::vector<tensor> tensors;
    write_state(message.body().initState(), state, tensors);
    for (tensor& t : tensors)
        message.attach(std::move(t));
    send(options_.leader, std::move(message));
}

void scheduler_actor::send_state(saved_part part, frame_builder<proto::StateSaved> message) {
    send_state_in(std::move(part), std::move(message));
}
void scheduler_actor::send_state(saved_part part, frame_builder<proto::ProgramEnded> message) {
    send_state_in(std::move(part), std::move(message));
}

// Workers have begun later phases meanwhile. What is with them is saved at the first one that has not been chosen.
void scheduler_actor::concluded(std::uint64_t probe, bool is_done) {
    const bool is_over = end_holds(is_done, milestones_, options_.stop);
    const bool is_first = is_over && end_.phase == 0;
    if (is_first)
        end_ = {options_.shape.bound().first_after(probe), is_done};
    if (is_over && !options_.ends_at_mark())
        return end();
    if (is_first && !options_.result_is_with_workers)
        return send_result([this] { folded({}); });
    folded({});
}

// The variables as they are: what is in flight at a probe is no part of the result.
void scheduler_actor::send_result(std::function<void()> then) {
    has_sent_result_ = true;
    compute<saved_part>(
        step::stop, ledger_.folded(), false, [part = options_.part] { return part->save(); },
        [this, then = std::move(then)](saved_part& part) {
            send_state(std::move(part), frame_builder<proto::ProgramEnded>{});
            then();
        });
}

void scheduler_actor::end() {
    compute<saved_part>(
        step::stop, ledger_.folded(), false, [part = options_.part] { return part->save(); },
        [this](saved_part& part) {
            if (!has_sent_result_)
                send_state(part, frame_builder<proto::ProgramEnded>{});
            if (options_.saves_end && !options_.result_is_with_workers) {
                frame_builder<proto::StateSaved> last;
                last.body().setLast(true);
                send_state(std::move(part), std::move(last));
            }
            course_ = course::ended;
        });
}

// Whether the run stops at this phase, as far as that is known.
bool scheduler_actor::is_last(std::uint64_t number) const {
    if (!options_.ends_at_mark() || number == 0)
        return false;
    const auto& ring = options_.shape.ring;
    const std::uint64_t swept = ring ? options_.stop.sweeps * ring->phases_per_sweep() : 0;
    // A run that goes on with smaller bounds may have passed them.
    return std::ranges::any_of(std::array{options_.stop.phases, swept, end_.phase},
                               [&](std::uint64_t last) { return last > 0 && number >= last; });
}

} // namespace troupe::scheduled
