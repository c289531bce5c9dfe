#include "transport/node/waiting_line.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace troupe {

bool waiting_line::has(const std::string& network) const {
    return std::ranges::find(line_, network, &newcomer::network) != line_.end();
}

bool waiting_line::add(newcomer last) {
    line_.push_back(std::move(last));
    if (line_.size() <= places_)
        return true;
    std::map<std::string, std::size_t> sizes;
    for (const newcomer& n : line_)
        ++sizes[n.network];
    // From the end: of networks that have as many the last newcomer goes.
    const auto gone =
        std::max_element(line_.rbegin(), line_.rend(), [&](const newcomer& a, const newcomer& b) {
            return sizes[a.network] < sizes[b.network];
        });
    line_.erase(std::prev(gone.base()));
    return false;
}

void waiting_line::leave(const std::function<bool(const std::string&)>& has_room,
                         const std::function<void(newcomer)>& take) {
    std::set<std::string> full;
    for (newcomer& next : std::exchange(line_, {})) {
        if (!full.contains(next.network) && has_room(next.network)) {
            take(std::move(next));
        } else {
            full.insert(next.network);
            line_.push_back(std::move(next));
        }
    }
}

} // namespace troupe
