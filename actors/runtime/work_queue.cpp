#include "actors/runtime/work_queue.hpp"

#include <algorithm>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/failure.hpp"
#include "schemas/device.capnp.h"

namespace troupe {

work_queue::work_queue(actor& owner, failure_handler failed)
    : owner_{owner}, failed_{std::move(failed)} {
    owner_.add_handler(type_id_of<proto::WorkDone>(), [this](const frame& f) { done(f); });
}

void work_queue::submit(device& on, piece p) {
    device_task task;
    task.cost_hint = p.cost;
    task.owner = owner_.self().actor.value();
    task.priority = p.priority;
    task.work = std::move(p.work);
    task.done = [submitter = owner_.self_handle(), ticket = ++ticket_](const result<void>& outcome,
                                                                       duration busy) {
        frame_builder<proto::WorkDone> done;
        done.body().setTicket(ticket);
        if (!outcome)
            write_failure(done.body().initFailure(), outcome.failure());
        done.body().setBusyNs(busy.count());
        submitter.post(std::move(done));
    };
    p.work = nullptr;
    pending_.push_back({ticket_, &on, std::move(p)});
    on.submit(std::move(task));
}

void work_queue::forget() {
    for (pending& p : pending_)
        p.forgotten = true;
}

void work_queue::done(const frame& f) {
    const auto body = f.body<proto::WorkDone>();
    const auto found = std::ranges::find(pending_, body.getTicket(), &pending::ticket);
    TROUPE_CHECK(found != pending_.end(), "a device completes what was submitted");
    const pending p = std::move(*found);
    pending_.erase(found);
    busy_ = duration{body.getBusyNs()};
    if (p.forgotten)
        return;
    if (!p.submitted.label.empty()) {
        // The message was posted when the work ended, and may have waited since.
        const time_point ended{f.envelope().getSentNs()};
        owner_.trace_compute(owner_.runtime().trace().label(p.submitted.label), ended + -busy_,
                             ended, p.submitted.number, p.submitted.version,
                             p.on->memory().statistics().bytes_reserved);
    }
    if (body.hasFailure()) {
        const error why = read_failure(body.getFailure());
        return p.submitted.failed ? p.submitted.failed(why) : failed_(p.submitted.label, why);
    }
    p.submitted.then();
}

} // namespace troupe
