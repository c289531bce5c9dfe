#include "actors/scheduled/phase_ledger.hpp"

#include <algorithm>

#include "schemas/base/check.hpp"

namespace troupe::scheduled {

namespace {

error refuse(const phase_header& of, const std::string& sentence) {
    return {errc::protocol, "phase " + std::to_string(of.number) + ": " + sentence};
}

} // namespace

std::optional<std::uint64_t> phase_ledger::next_own() const noexcept {
    std::uint64_t number = chosen_;
    while (owner(number) != shape_.scheduler)
        ++number;
    if (shape_.bound().applied_before(number) > folded_)
        return std::nullopt;
    return number;
}

step phase_ledger::next() const {
    if (const auto own = next_own())
        return {step::schedule, *own};
    const auto found = entries_.find(folded_);
    if (found == entries_.end())
        return {};
    const entry& e = found->second;
    const bool all_partials = e.partial_count == shape_.workers;
    const bool is_own = owner(folded_) == shape_.scheduler;
    const bool is_known = is_own || e.header.is_probe || e.judgement_count > 0;
    if (is_known && e.header.mark == phase_mark::stop)
        return {step::stop, folded_};
    if (is_known && e.header.mark == phase_mark::save && !e.is_saved)
        return {step::save, folded_};
    if (!e.header.is_probe) {
        if (is_own)
            return {all_partials ? step::pull : step::wait, folded_};
        return {e.judgement_count > 0 ? step::absorb : step::wait, folded_};
    }
    if (!e.has_judgement[shape_.scheduler])
        return {all_partials ? step::judge : step::wait, folded_};
    return {e.judgement_count == shape_.schedulers ? step::conclude : step::wait, folded_};
}

// Nobody is further ahead than its window allows, counted from what this scheduler has folded: another one may have folded
// what this one has not, but not chosen more than a window beyond the oldest phase that this one has not sent.
std::uint64_t phase_ledger::bound_of_messages() const noexcept {
    return folded_ + 2 * (std::uint64_t{shape_.window} + shape_.schedulers) + 2;
}

result<void> phase_ledger::check(const phase_header& of) const {
    const std::uint64_t bound = bound_of_messages();
    if (of.number < folded_ || of.number >= bound)
        return refuse(of, "not among those under way, " + std::to_string(folded_) + " to " +
                              std::to_string(bound - 1));
    const auto found = entries_.find(of.number);
    if (owns(of.number) && (found == entries_.end() || !found->second.own))
        return refuse(of, "it has not been sent yet");
    if (found != entries_.end() &&
        (found->second.header.is_probe != of.is_probe || found->second.header.mark != of.mark))
        return refuse(of, "its messages contradict each other");
    return {};
}

phase_ledger::entry& phase_ledger::entry_of(const phase_header& of) {
    const auto [found, is_new] = entries_.try_emplace(of.number);
    entry& e = found->second;
    if (is_new) {
        e.header = of;
        e.partials.resize(shape_.workers);
        e.has_partial.resize(shape_.workers);
        e.judgements.resize(shape_.schedulers);
        e.has_judgement.resize(shape_.schedulers);
    }
    return e;
}

result<void> phase_ledger::take_partial(std::uint32_t worker, const phase_header& of,
                                        payload partial) {
    if (worker >= shape_.workers)
        return refuse(of, "there is no worker " + std::to_string(worker));
    if (!of.is_probe && !owns(of.number))
        return refuse(of, "it is another scheduler's");
    const bool may_come_again = of.number < computed_anew_[worker];
    if (may_come_again && of.number < folded_)
        return {};
    if (auto fits = check(of); !fits)
        return fits;
    entry& e = entry_of(of);
    if (may_come_again && e.has_partial[worker])
        return {};
    if (e.has_partial[worker])
        return refuse(of, "worker " + std::to_string(worker) + " has computed it already");
    e.has_partial[worker] = true;
    e.partials[worker] = std::move(partial);
    ++e.partial_count;
    return {};
}

void phase_ledger::worker_replaced(std::uint32_t worker) {
    computed_anew_[worker] = bound_of_messages();
}

result<void> phase_ledger::take_deltas(std::uint32_t scheduler, const phase_header& of,
                                       payload deltas) {
    if (scheduler >= shape_.schedulers || scheduler == shape_.scheduler)
        return refuse(of, "there is no other scheduler " + std::to_string(scheduler));
    if (!of.is_probe && owner(of.number) != scheduler)
        return refuse(of, "it is not scheduler " + std::to_string(scheduler) + "'s");
    if (auto fits = check(of); !fits)
        return fits;
    entry& e = entry_of(of);
    if (e.has_judgement[scheduler])
        return refuse(of, "scheduler " + std::to_string(scheduler) + " has sent it already");
    e.has_judgement[scheduler] = true;
    e.judgements[scheduler] = std::move(deltas);
    ++e.judgement_count;
    return {};
}

result<void> phase_ledger::restore(const std::vector<phase>& phases,
                                   std::deque<phase_deltas> recent) {
    std::uint64_t next = folded_;
    for (const phase& p : phases) {
        if (!owns(p.number) || p.number < next || shape_.bound().applied_before(p.number) > folded_)
            return error{errc::protocol, "a saved state has phases that were not under way"};
        next = p.number + 1;
    }
    const std::uint64_t oldest = oldest_needed();
    if (recent.size() != folded_ - oldest)
        return error{errc::protocol, "a saved state has other deltas than those in flight"};
    for (std::size_t i = 0; i < recent.size(); ++i)
        if (recent[i].number != oldest + i)
            return error{errc::protocol, "a saved state has other deltas than those in flight"};
    recent_ = std::move(recent);
    return {};
}

void phase_ledger::scheduled(phase chosen, phase_mark mark) {
    TROUPE_CHECK(owner(chosen.number) == shape_.scheduler && chosen.number >= chosen_,
                 "own phases are chosen in order");
    entry& e = entry_of({chosen.number, chosen.is_probe, mark}); // no message has come for it
    chosen_ = chosen.number + 1;
    e.own = std::move(chosen);
}

void phase_ledger::saved() {
    entries_.at(folded_).is_saved = true;
}

void phase_ledger::judged(payload judgement) {
    entry& e = entries_.at(folded_);
    e.has_judgement[shape_.scheduler] = true;
    e.judgements[shape_.scheduler] = std::move(judgement);
    ++e.judgement_count;
}

void phase_ledger::folded(payload changes) {
    entries_.erase(folded_);
    recent_.push_back({folded_, std::move(changes)});
    ++folded_;
    chosen_ = std::max(chosen_, folded_);
    while (recent_.front().number < oldest_needed())
        recent_.pop_front();
}

std::uint64_t phase_ledger::oldest_needed() const noexcept {
    return folded_ == 0 ? 0 : shape_.bound().applied_before(folded_ - 1);
}

const phase& phase_ledger::own(std::uint64_t number) const {
    return entries_.at(number).own.value();
}

phase_header phase_ledger::header(std::uint64_t number) const {
    return entries_.at(number).header;
}

std::span<const payload> phase_ledger::partials(std::uint64_t number) const {
    return entries_.at(number).partials;
}

std::span<const payload> phase_ledger::judgements(std::uint64_t number) const {
    return entries_.at(number).judgements;
}

const payload& phase_ledger::arrived_deltas(std::uint64_t number) const {
    return entries_.at(number).judgements[owner(number)];
}

std::vector<phase_deltas> phase_ledger::in_flight(std::uint64_t number) const {
    std::vector<phase_deltas> deltas;
    const std::uint64_t applied = shape_.bound().applied_before(number);
    for (const phase_deltas& d : recent_)
        if (d.number >= applied && d.number < number)
            deltas.push_back(d);
    return deltas;
}

const phase_deltas* phase_ledger::due_with(std::uint64_t number) const {
    const auto due = shape_.bound().due_with(number);
    const auto is_due = [&](const phase_deltas& d) { return d.number == due; };
    const auto found = std::ranges::find_if(recent_, is_due);
    return found == recent_.end() ? nullptr : &*found;
}

std::vector<phase> phase_ledger::own_phases() const {
    std::vector<phase> phases;
    for (const auto& [number, e] : entries_)
        if (e.own)
            phases.push_back(*e.own);
    return phases;
}

} // namespace troupe::scheduled
