#include "actors/peers/admm_rule.hpp"

#include <algorithm>

namespace troupe {

bool admm_barrier::report(std::uint32_t replica, bool last) {
    state& of = replicas_[replica];
    if (of.lost || of.reported)
        return false;
    of.reported = true;
    of.finished = last;
    return true;
}

void admm_barrier::lose(std::uint32_t replica) {
    replicas_[replica] = {.lost = true};
}

bool admm_barrier::all_finished() const noexcept {
    return std::ranges::all_of(replicas_, [](const state& s) { return s.lost || s.finished; }) &&
           std::ranges::any_of(replicas_, [](const state& s) { return s.finished; });
}

bool admm_barrier::may_step() const noexcept {
    if (all_finished())
        return true;
    std::uint32_t active = 0;
    std::uint32_t reported = 0;
    for (const state& s : replicas_) {
        if (s.lost || s.finished)
            continue; // a finished replica blocks nobody
        ++active;
        if (s.reported)
            ++reported;
        else if (s.age + 1 >= rule_.delay)
            return false;
    }
    return reported > 0 && reported >= std::min(rule_.quorum, active);
}

std::optional<std::uint32_t> admm_barrier::waits_for(std::uint32_t replica) const noexcept {
    const bool is_held = replicas_[replica].finished ? !all_finished() : !may_step();
    std::optional<std::uint32_t> oldest;
    if (!replicas_[replica].reported || !is_held)
        return oldest;
    for (std::uint32_t r = 0; r < replicas_.size(); ++r) {
        const state& s = replicas_[r];
        if (!s.lost && !s.reported && (!oldest || s.age > replicas_[*oldest].age))
            oldest = r;
    }
    return oldest;
}

std::vector<std::uint32_t> admm_barrier::step() {
    const bool ends = all_finished();
    std::vector<std::uint32_t> answered;
    for (std::uint32_t r = 0; r < replicas_.size(); ++r) {
        state& s = replicas_[r];
        if (s.lost || (s.finished && !ends))
            continue;
        if (s.reported) {
            answered.push_back(r);
            s = {};
        } else {
            ++s.age;
        }
    }
    return answered;
}

} // namespace troupe
