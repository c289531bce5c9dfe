#include "transport/sim/event_queue.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

event_id event_queue::schedule_at(time_point at, action run) {
    const event_id id{std::max(at, now()), ++scheduled_total_};
    events_.emplace(id, std::move(run));
    return id;
}

bool event_queue::cancel(event_id id) {
    return events_.erase(id) == 1;
}

std::optional<time_point> event_queue::next_time() const {
    if (events_.empty())
        return std::nullopt;
    return events_.begin()->first.at;
}

bool event_queue::run_next() {
    if (events_.empty())
        return false;
    // Removed before it runs: the action may schedule and cancel.
    auto event = events_.extract(events_.begin());
    time_.advance_to(event.key().at);
    event.mapped()();
    return true;
}

std::size_t event_queue::run_until(time_point until) {
    std::size_t count = 0;
    while (!events_.empty() && events_.begin()->first.at <= until) {
        run_next();
        ++count;
    }
    time_.advance_to(until);
    return count;
}

} // namespace troupe
