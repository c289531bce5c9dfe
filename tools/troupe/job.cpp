#include "tools/troupe/job.hpp"

#include <algorithm>

#include "schemas/base/check.hpp"

namespace troupe::cli {

std::vector<app_kind> app_kinds(job_table jobs) {
    std::vector<app_kind> kinds;
    for (const job_kind& kind : jobs)
        kinds.push_back(kind.app);
    return kinds;
}

const job_kind& kind_of(const app_definition& app, job_table jobs) {
    const auto found =
        std::ranges::find_if(jobs, [&](const job_kind& k) { return k.app.key == app.kind(); });
    TROUPE_CHECK(found != jobs.end(), "the app file was loaded by this table");
    return *found;
}

} // namespace troupe::cli
