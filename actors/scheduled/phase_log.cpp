#include "actors/scheduled/phase_log.hpp"

#include <algorithm>

namespace troupe::scheduled {

std::uint64_t logged_phase::bytes() const noexcept {
    std::uint64_t sum = bytes_of_phase;
    for (const payload* all : {&sent.content, &due})
        for (const tensor& t : *all)
            sum += bytes_of_tensor + std::max(t.bytes(), bytes_of_buffer_min);
    return sum;
}

void phase_log::add(logged_phase given_out) {
    bytes_ += given_out.bytes();
    phases_.push_back(std::move(given_out));
    if (!replays_.empty())
        return;
    while (phases_.size() > limits_.phases || bytes_ > limits_.bytes)
        forget_below(phases_.front().sent.number + 1);
}

void phase_log::committed(std::uint64_t number) {
    committed_ = std::max(committed_, number);
    forget_below(oldest_replay(committed_));
}

bool phase_log::begin_replay(std::uint32_t worker, std::uint64_t from) {
    if (from < first_)
        return false;
    replays_[worker] = {.next = from, .done = from};
    return true;
}

void phase_log::release_replays() {
    for (auto& [worker, r] : replays_)
        r.is_held = false;
}

const logged_phase* phase_log::next(std::uint32_t worker) {
    const auto found = replays_.find(worker);
    if (found == replays_.end() || found->second.is_held)
        return nullptr;
    replay& r = found->second;
    const auto at = std::ranges::lower_bound(phases_, r.next, {},
                                             [](const logged_phase& p) { return p.sent.number; });
    if (at == phases_.end()) {
        replays_.erase(found);
        forget_below(oldest_replay(committed_));
        return nullptr;
    }
    if (at->sent.number >= r.done + replay_ahead)
        return nullptr;
    r.next = at->sent.number + 1;
    return &*at;
}

bool phase_log::answered(std::uint32_t worker, std::uint64_t number) {
    const auto found = replays_.find(worker);
    if (found == replays_.end())
        return true;
    replay& r = found->second;
    if (number >= r.next)
        return false;
    r.done = std::max(r.done, number + 1);
    return true;
}

std::uint64_t phase_log::phases_since(std::uint64_t number) const noexcept {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        phases_, [&](const logged_phase& p) { return p.sent.number >= number; }));
}

void phase_log::forget_below(std::uint64_t number) {
    first_ = std::max(first_, number);
    for (; !phases_.empty() && phases_.front().sent.number < number; phases_.pop_front())
        bytes_ -= phases_.front().bytes();
}

std::uint64_t phase_log::oldest_replay(std::uint64_t otherwise) const noexcept {
    for (const auto& [worker, r] : replays_)
        otherwise = std::min(otherwise, r.next);
    return otherwise;
}

} // namespace troupe::scheduled
