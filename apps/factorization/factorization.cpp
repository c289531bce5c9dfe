#include "apps/factorization/factorization.hpp"

#include "apps/factorization/carry_over.hpp"
#include "apps/factorization/coordinate_items.hpp"
#include "apps/factorization/coordinate_users.hpp"
#include "apps/factorization/factorization.capnp.h"
#include "apps/factorization/result_files.hpp"
#include "apps/factorization/rotating_items.hpp"
#include "apps/factorization/rotating_users.hpp"
#include "apps/factorization/settings.hpp"
#include "apps/factorization/trained.hpp"

namespace troupe::factorization {

namespace {

result<std::unique_ptr<scheduled::scheduler_part>>
make_scheduler(const scheduled::scheduler_site& site) {
    const auto settings = scheduled::checked_settings(site, read_settings, check);
    if (!settings)
        return settings.failure();
    std::unique_ptr<scheduled::scheduler_part> part;
    if (settings->by == method::sgd)
        part = std::make_unique<rotating_items>(site, *settings);
    else
        part = std::make_unique<coordinate_items>(site, *settings);
    return part;
}

result<std::unique_ptr<scheduled::worker_part>> make_worker(const scheduled::worker_site& site) {
    const auto settings = scheduled::checked_settings(site, read_settings, check);
    if (!settings)
        return settings.failure();
    std::unique_ptr<scheduled::worker_part> part;
    if (settings->by == method::sgd)
        part = std::make_unique<rotating_users>(options_of(site, *settings));
    else
        part = std::make_unique<coordinate_users>(coordinates_of(site, *settings));
    return part;
}

} // namespace

scheduled::program factorization_program() {
    return {.name = "factorization",
            .doc = "Ratings of items by users, as products of factors: matrix factorization.",
            .settings = capnp::Schema::from<proto::FactorizationSettings>(),
            .check = check,
            .doubts = doubts,
            .make_scheduler = make_scheduler,
            .make_worker = make_worker,
            .write_result = write_result,
            .needs_targets = false,
            .schedules = {scheduled::schedule_kind::rotation, scheduled::schedule_kind::cyclic},
            .result_is_with_workers = true,
            .score = score,
            .predict = predict_ratings,
            .carry_over = carry_over};
}

} // namespace troupe::factorization
