#include "apps/lda/lda.hpp"

#include "apps/lda/lda.capnp.h"
#include "apps/lda/lda_scheduler.hpp"
#include "apps/lda/lda_worker.hpp"
#include "apps/lda/model_use.hpp"
#include "apps/lda/result_files.hpp"
#include "apps/lda/settings.hpp"
#include "apps/lda/word_tokens.hpp"

namespace troupe::lda {

namespace {

// A part of this site, if its settings are right.
template <class Part, class Base, class Site>
result<std::unique_ptr<Base>> make(const Site& site) {
    const auto settings = scheduled::checked_settings(site, read_settings, check);
    if (!settings)
        return settings.failure();
    return std::unique_ptr<Base>{std::make_unique<Part>(options_of(site, *settings))};
}

// With another window: the topics' totals are told to the workers that much earlier or later.
result<void> carry_over(const scheduled::carried_site& before, const scheduled::carried_site& now,
                        scheduled::carried_run&) {
    if (before.rows == now.rows)
        return {};
    return error{errc::usage, "documents and their topics are with the workers: give as many by "
                              "schedule.workers"};
}

} // namespace

scheduled::program lda_program() {
    return {.name = "lda",
            .doc = "Topics of documents: latent Dirichlet allocation by Gibbs sampling.",
            .settings = capnp::Schema::from<proto::LdaSettings>(),
            .check = check,
            .data_rule_of =
                [](const scheduled::program_site&) { return std::make_unique<count_rule>(); },
            .doubts = doubts,
            .make_scheduler =
                make<lda_scheduler, scheduled::scheduler_part, scheduled::scheduler_site>,
            .make_worker = make<lda_worker, scheduled::worker_part, scheduled::worker_site>,
            .write_result = write_result,
            .needs_targets = false,
            .schedules = {scheduled::schedule_kind::rotation},
            .result_is_with_workers = true,
            .score = score,
            .predict = predict,
            .carry_over = carry_over};
}

} // namespace troupe::lda
