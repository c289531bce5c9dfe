// A scheduler and the workers that take the place of lost ones: what it keeps for them, and how it sends it.
#include <algorithm>

#include "actors/scheduled/scheduler_actor.hpp"

namespace troupe::scheduled {

void scheduler_actor::commit_complete(proto::CommitComplete::Reader body, const frame& f) {
    if (!is_of_leader(f) || body.getIncarnation() != run_.number)
        return;
    log_.committed(body.getNumber());
    show_progress();
}

// Also when this scheduler has ended: workers save what they are at the end.
void scheduler_actor::replace_workers(proto::ReplaceWorkers::Reader body, const frame& f) {
    if (!is_of_leader(f))
        return;
    if (body.getIncarnation() != run_.number || course_ == course::waiting || options_.shape.ring)
        return reject("workers are replaced while the phases of this incarnation go on");
    for (const auto w : body.getWorkers())
        if (w.getWorker() >= run_.workers.size())
            return reject("a worker that the run has not");
    frame_builder<proto::WorkersReplaced> replaced;
    replaced.body().setIncarnation(run_.number);
    std::uint64_t replayed = 0;
    for (const auto w : body.getWorkers()) {
        if (!log_.begin_replay(w.getWorker(), w.getNumber())) {
            replaced.body().setForgotten(true);
            continue;
        }
        run_.replace_worker(w.getWorker(), read_address(w.getAddress()));
        watch(run_.workers[w.getWorker()]);
        ledger_.worker_replaced(w.getWorker());
        replayed = std::max(replayed, log_.phases_since(w.getNumber()));
    }
    replaced.body().setReplayed(replayed);
    send(options_.leader, std::move(replaced));
}

void scheduler_actor::phase_passed(proto::PhasePassed::Reader body, const frame& f) {
    const message_age age = run_.age_of(body.getIncarnation());
    if (run_.is_gone(f.from()) || age == message_age::past)
        return;
    const auto worker = run_.worker(f.from());
    if (!worker || age == message_age::future)
        return reject("the sender is no worker of this run, or of another incarnation of it");
    const std::uint64_t number = body.getNumber();
    if (!ledger_.owns(number) || number >= ledger_.folded() ||
        !answered(*worker, run_.number, number))
        reject("phase " + std::to_string(number) + " is not one that the sender is to pass");
}

// The worker is behind this phase. False: it cannot be.
bool scheduler_actor::answered(std::uint32_t worker, std::uint32_t incarnation,
                               std::uint64_t number) {
    if (incarnation != run_.number || !log_.replays(worker) || !ledger_.owns(number))
        return true;
    if (!log_.answered(worker, number))
        return false;
    send_again(worker);
    return true;
}

void scheduler_actor::send_again(std::uint32_t worker) {
    while (const logged_phase* p = log_.next(worker))
        send_phase(worker, *p, p->sent.number < ledger_.folded());
}

void scheduler_actor::send_again_to_all() {
    for (std::uint32_t w = 0; w < run_.workers.size(); ++w)
        if (log_.replays(w))
            send_again(w);
}

} // namespace troupe::scheduled
