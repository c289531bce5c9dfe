#include "transport/node/report_queue.hpp"

namespace troupe {

bool report_queue::deliver() {
    if (reports_.empty())
        return false;
    std::vector<report> now;
    now.swap(reports_);
    for (report& r : now) {
        if (r.data != nullptr)
            listener_->frame_arrived(r.from, std::move(r.data));
        else
            r.what(*listener_);
    }
    if (reports_.empty()) { // keeps its capacity
        now.clear();
        reports_.swap(now);
    }
    return true;
}

bool report_queue::drop() {
    const bool had_some = !reports_.empty();
    reports_.clear();
    return had_some;
}

} // namespace troupe
