#include "apps/tsp/tsp.hpp"

#include "apps/tsp/city_pieces.hpp"
#include "apps/tsp/program_settings.hpp"
#include "apps/tsp/result_files.hpp"
#include "apps/tsp/tsp.capnp.h"
#include "apps/tsp/tsp_scheduler.hpp"
#include "apps/tsp/tsp_worker.hpp"

namespace troupe::tsp {

namespace {

// A part of this site, if its settings are right.
template <class Part, class Base, class Site>
result<std::unique_ptr<Base>> make(const Site& site) {
    const auto settings = scheduled::checked_settings(site, read_settings, check);
    if (!settings)
        return settings.failure();
    return std::unique_ptr<Base>{std::make_unique<Part>(options_of(site, *settings))};
}

// With another window, or other bounds.
result<void> carry_over(const scheduled::carried_site& before, const scheduled::carried_site& now,
                        scheduled::carried_run& run) {
    if (before.rows != now.rows)
        return error{errc::usage, "each worker has a colony: give as many by schedule.workers"};
    return forget_phases_under_way(run.schedulers[0], *now.memory);
}

} // namespace

scheduled::program tsp_program() {
    return {.name = "tsp",
            .doc = "Short tours through cities: the travelling salesman, by colonies of ants.",
            .settings = capnp::Schema::from<proto::TspSettings>(),
            .check = check,
            .doubts = doubts,
            .make_scheduler =
                make<tsp_scheduler, scheduled::scheduler_part, scheduled::scheduler_site>,
            .make_worker = make<tsp_worker, scheduled::worker_part, scheduled::worker_site>,
            .write_result = write_result,
            .write_so_far = write_so_far,
            .needs_targets = false,
            .every_worker_has_all_rows = true,
            .open_cities = open_cities,
            .schedules = {scheduled::schedule_kind::cyclic},
            .bounds = {scheduled::stop_bound::length, scheduled::stop_bound::iterations},
            .carry_over = carry_over};
}

} // namespace troupe::tsp
