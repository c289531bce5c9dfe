// What a scheduler tells the workers and the other schedulers of its phases.
#include "actors/scheduled/scheduler_actor.hpp"

namespace troupe::scheduled {

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

} // namespace troupe::scheduled
