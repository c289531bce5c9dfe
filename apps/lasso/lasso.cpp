#include "apps/lasso/lasso.hpp"

#include "apps/lasso/carry_over.hpp"
#include "apps/lasso/lasso.capnp.h"
#include "apps/lasso/lasso_rows.hpp"
#include "apps/lasso/lasso_scheduler.hpp"
#include "apps/lasso/result_files.hpp"
#include "apps/lasso/settings.hpp"
#include "apps/lasso/target_classes.hpp"
#include "apps/lasso/trained.hpp"

namespace troupe::lasso {

namespace {

result<std::unique_ptr<scheduled::scheduler_part>>
make_scheduler(const scheduled::scheduler_site& site) {
    const auto settings = scheduled::checked_settings(site, read_settings, check);
    if (!settings)
        return settings.failure();
    return std::unique_ptr<scheduled::scheduler_part>{
        std::make_unique<lasso_scheduler>(options_of(site, *settings))};
}

result<std::unique_ptr<scheduled::worker_part>> make_worker(const scheduled::worker_site& site) {
    const auto settings = scheduled::checked_settings(site, read_settings, check);
    if (!settings)
        return settings.failure();
    return std::unique_ptr<scheduled::worker_part>{
        std::make_unique<lasso_rows>(options_of(site, *settings))};
}

// Products of dense columns with one another (column_matrix.hpp). All other sums have one order on every processor.
bool has_bits_of_processor(const scheduled::program_site& site) {
    return !site.data.is_sparse;
}

// The intercept takes what is subtracted (result_files.cpp).
bool takes_offsets(const scheduled::program_site& site) {
    const auto settings = read_settings(site.settings);
    return settings && settings->intercept;
}

} // namespace

scheduled::program lasso_program() {
    return {.name = "lasso",
            .doc =
                "Least squares, or logistic regression, with an L1 penalty (Lasso), or with L1 and "
                "L2 penalties (elastic net).",
            .settings = capnp::Schema::from<proto::LassoSettings>(),
            .check = check,
            .data_rule_of =
                [](const scheduled::program_site& site) {
                    const auto settings = read_settings(site.settings);
                    return settings ? make_data_rule(*settings) : nullptr;
                },
            .has_bits_of_processor = has_bits_of_processor,
            .make_scheduler = make_scheduler,
            .make_worker = make_worker,
            .write_result =
                [](const scheduled::result_site& site, const scheduled::ended_run& run) {
                    return write_result(site, run.schedulers);
                },
            .score = score,
            .predict = predict,
            .carry_over = carry_over,
            .takes_offsets = takes_offsets,
            .takes_remainders = true};
}

} // namespace troupe::lasso
