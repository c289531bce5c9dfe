// What a scheduler tells the workers and the other schedulers of its phases, and where the run stops.
#include <algorithm>
#include <array>

#include "actors/scheduled/scheduler_actor.hpp"

namespace troupe::scheduled {

void scheduler_actor::give_out(phase chosen, phase_mark mark) {
    if (is_last(chosen.number))
        mark = phase_mark::stop;
    send_phase(chosen, mark);
    ledger_.scheduled(std::move(chosen), mark);
}

void scheduler_actor::send_phase(const phase& chosen, phase_mark mark) {
    const phase_deltas* due = ledger_.due_with(chosen.number);
    for (const actor_address worker : run_.workers) {
        frame_builder<proto::Phase> message;
        auto body = message.body();
        body.setIncarnation(run_.number);
        body.setNumber(chosen.number);
        body.setProbe(chosen.is_probe);
        body.setMark(static_cast<proto::Mark>(mark));
        body.setContent(static_cast<std::uint16_t>(chosen.content.size()));
        message.envelope().setWork(chosen.number);
        message.envelope().setStateVersion(ledger_.folded());
        for (const tensor& t : chosen.content)
            message.attach(t);
        if (due != nullptr)
            for (const tensor& t : due->changes)
                message.attach(t);
        send(worker, std::move(message));
    }
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

// Workers have begun later phases meanwhile. What is with them is saved at the first one that has not been chosen.
void scheduler_actor::concluded(std::uint64_t probe, bool is_done) {
    const bool is_over =
        is_done || (options_.stop.sweeps > 0 && milestones_ >= options_.stop.sweeps);
    if (is_over && end_.phase == 0)
        end_ = {options_.shape.bound().first_after(probe), is_done};
    if (is_over && !options_.result_is_with_workers)
        return end();
    folded({});
}

// Whether the run stops at this phase, as far as that is known.
bool scheduler_actor::is_last(std::uint64_t number) const {
    if (!options_.result_is_with_workers || number == 0)
        return false;
    const auto& ring = options_.shape.ring;
    const std::uint64_t swept = ring ? options_.stop.sweeps * ring->phases_per_sweep() : 0;
    // A run that goes on with smaller bounds may have passed them.
    return std::ranges::any_of(std::array{options_.stop.phases, swept, end_.phase},
                               [&](std::uint64_t last) { return last > 0 && number >= last; });
}

} // namespace troupe::scheduled
