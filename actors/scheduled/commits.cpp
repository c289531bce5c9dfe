#include "actors/scheduled/commits.hpp"

namespace troupe::scheduled {

bool commits::take(std::size_t member, saved_state state) {
    const std::uint64_t number = state.number;
    if (member >= members_ || (latest_ && number <= phase()))
        return false;
    partly& p = under_way_[number];
    p.states.resize(members_);
    if (p.states[member])
        return false;
    p.states[member] = std::move(state);
    if (++p.count < members_)
        return false;
    std::vector<saved_state> all;
    for (auto& s : p.states)
        all.push_back(std::move(*s));
    latest_ = std::move(all);
    under_way_.erase(under_way_.begin(), under_way_.upper_bound(number));
    return true;
}

} // namespace troupe::scheduled
