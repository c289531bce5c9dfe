// The scheduler part of the program "lasso": a range of the variables of an elastic net, and the products of columns that
// couple them.
//
// The model's columns are the matrix's, centred if there is an intercept and scaled if data.scale says so; the workers have
// neither done, and what comes from them is corrected here. Coefficients are those of the model's columns.
//
// A probe brings the gradients of all variables, so the gap, and from them follows the working set that phases choose from
// until the next one. With coupling::exact a phase's variables are solved together, by the products among their columns,
// after the gradients have been corrected for what is in flight; with coupling::check those that are correlated are left
// out. A working set of at most limits::whole_set_max variables is one phase if the set is sized by work and the products
// fit into what is kept. Scheduler 0 alone chooses when there is a probe.
//
// If one scheduler has all variables in its working set, and the products of dense columns are exact, what a probe would
// find follows from the last one (whole_problem.hpp): a phase solves as many lambdas of a path as it may.
//
// Of a loss that is not the squares (logistic.hpp) each probe begins a round: phases until the next one solve a weighted
// least squares problem about the coefficients that the probe saw, so products of columns are asked for anew, and what was
// chosen before the probe is concluded changes nothing. If a round made the objective larger, the next one does nothing but
// go half the way back (newton_steps.hpp).
//
// Threads, ownership, errors: as scheduled::scheduler_part says. errc::numeric if the coefficients diverge.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "actors/scheduled/selection.hpp"
#include "apps/lasso/checked_update.hpp"
#include "apps/lasso/column_facts.hpp"
#include "apps/lasso/coupled_solve.hpp"
#include "apps/lasso/couplings.hpp"
#include "apps/lasso/facts_table.hpp"
#include "apps/lasso/lasso_limits.hpp"
#include "apps/lasso/messages.hpp"
#include "apps/lasso/newton_steps.hpp"
#include "apps/lasso/penalty_path.hpp"
#include "apps/lasso/phases_under_way.hpp"
#include "apps/lasso/probe_rule.hpp"
#include "apps/lasso/settings.hpp"
#include "apps/lasso/solutions.hpp"
#include "apps/lasso/working_set.hpp"

namespace troupe::lasso {

using scheduled::in_flight;
using scheduled::phase;
using scheduled::phase_deltas;

struct scheduler_options {
    memory_pool* memory = nullptr; // outlives the part
    lasso_settings settings;
    scheduled::schedule_settings schedule;
    double gap = 0; // stop.gap
    column_form form;
    std::uint64_t columns = 0; // of the matrix
    scheduled::number_range own;
    std::vector<scheduled::number_range> variables; // of each scheduler
    std::uint32_t scheduler = 0;
    std::uint32_t schedulers = 1;
    bool is_sparse = false;
    std::size_t gram_entries_max = limits::gram_entries_max;
    std::size_t gathered_entries_max = limits::gathered_entries_max;

    bool is_sized_by_work() const noexcept {
        return schedule.set == 0 && schedule.couple == scheduled::coupling::exact;
    }
    // Variables of a phase that is sized by work, at most.
    std::size_t whole_set_max() const noexcept {
        return is_sparse ? limits::whole_sparse_set_max : limits::whole_set_max;
    }
    // Variables of a phase, at most.
    std::size_t phase_size() const noexcept {
        if (schedule.set > 0)
            return schedule.set;
        return is_sized_by_work() ? whole_set_max() : limits::checked_set;
    }
    // Whether a phase may have all variables of the run, of which there are no more than rows.
    bool may_take_all() const noexcept {
        return schedulers == 1 && !is_sparse && !settings.is_logistic() && is_sized_by_work() &&
               columns <= whole_set_max() && static_cast<double>(columns) <= form.rows;
    }
};
scheduler_options options_of(const scheduled::scheduler_site& site, const lasso_settings& settings);

class lasso_scheduler final : public scheduled::scheduler_part {
  public:
    explicit lasso_scheduler(scheduler_options options);

    result<phase> schedule(std::uint64_t number, random_stream& random) override;
    result<payload> pull(const phase& p, in_flight deltas,
                         std::span<const payload> partials) override;
    result<void> absorb(const phase_deltas& deltas) override;
    result<payload> judge(std::uint64_t number, in_flight deltas,
                          std::span<const payload> partials) override;
    result<scheduled::standing> conclude(std::uint64_t number,
                                         std::span<const payload> judgements) override;
    std::string describe(const phase& p) const override {
        return p.is_probe ? "probe" : describe_update(p.content) + refused_text(refused_);
    }
    result<scheduled::saved_part> save() const override;
    result<void> load(const scheduled::saved_part& saved) override;

    const std::vector<double>& values() const noexcept { return values_; }
    const std::vector<solution>& solutions() const noexcept { return solutions_; }

  private:
    // Values that a probe has brought for its own variables, until it is concluded.
    struct judged_values {
        std::vector<double> gradients; // of all
        std::vector<double> values;    // as the workers had them
        bool is_now = false; // nothing has changed since, and nothing will before the next phase
        double shift = 0;    // of the intercept, by what is in flight
    };
    // Sums over the workers.
    struct update_sums {
        std::vector<double> products;
        double residual_sum = 0;
    };
    // Sums over all variables, of all schedulers.
    struct whole_sums {
        fit_sums fit;
        coefficient_sums coefficients;
        double used = 0;
        double mean_value = 0;
    };
    // The coefficients of a phase's variables after it.
    struct updated {
        std::vector<double> values;
        std::vector<bool> is_updated;
        double decrease = 0; // of the objective
        double gap = 0;      // of these variables, with the others as they are
        double refused = 0;  // with coupling::check: as in checked_outcome
    };
    // The objective that the run makes smaller, and the numbers of its least squares problem, as the last probe found them.
    struct objective_numbers {
        double null = 0;  // where all coefficients are 0; not divided by the rows
        double bound = 0; // no smaller than it is now
        double residual_square = 0;
        double weight = 0; // of all rows
    };
    // The intercept, which scheduler 0 shifts once in a run, or in a round.
    struct intercept_course {
        double target_mean = 0; // 0 without an intercept
        double shift = 0;
        bool has_shifted = false; // by `shift`
    };
    // The round that is under way, of a loss that is not the squares.
    struct round_course {
        std::uint64_t number = 0;     // 0 unless there are rounds
        bool waits = false;           // in this round variables do not change, unless they go back
        bool has_returned = false;    // they do, in a phase that has been chosen
        std::uint64_t probe_from = 0; // the first phase that may be a probe, in a round that waits
    };
    // The working set of all schedulers, as phases are chosen and solved by it.
    struct set_course {
        double used = 0;       // variables that were not 0 at the last probe
        bool may_gain = false; // something changed since its variables were solved together
        bool has_exact_products = false;
        bool is_whole = false; // it is all variables, from now on
    };
    struct course {
        bool has_begun = false; // a probe has been concluded
        bool is_done = false;
        objective_numbers objective;
        intercept_course intercept;
        round_course round;
        set_course set;
    };

    // lasso_scheduler.cpp
    bool is_probe_due(std::uint64_t number) const;
    result<phase> schedule_probe(std::uint64_t number);
    result<phase> schedule_return(std::uint64_t number);
    struct choice {
        std::vector<std::int64_t> variables;
        bool by_columns = false;
    };
    choice choose(const gram_cache::use& use, const std::vector<std::int32_t>& partners,
                  random_stream& random);
    bool prefers_columns(const std::vector<std::int32_t>& partners) const;
    std::vector<double> known_gradients(const std::vector<std::int64_t>& chosen);
    std::vector<std::int32_t> partners_at(std::uint64_t number) const;
    std::size_t index_of(std::int64_t column) const;
    std::optional<column_facts> facts_of(std::int32_t column) const;

    // lasso_pull.cpp
    // Keeps the products of columns that have come.
    result<update_sums> sums_of(const update_request& request, std::span<const payload> partials);
    result<flight> flight_of(in_flight deltas) const;
    result<updated> update(const own_phase& own, const update_request& request,
                           const update_sums& sums, const flight& f);
    bool is_whole_problem(const own_phase& own) const;
    updated solve_path(const own_phase& own, coupled_set set);
    coupled_set set_of(const own_phase& own, const update_sums& sums) const;
    result<updated> solved_alone(coupled_set set, const std::vector<std::int64_t>& chosen,
                                 const flight& f) const;
    double enough_gap(std::size_t variables) const;
    result<payload> change(const own_phase& own, const updated& u);

    // lasso_probe.cpp
    result<std::vector<probe_partial>> read_partials(std::span<const payload> partials) const;
    result<void> learn(std::span<const probe_partial> partials, const fit_sums& fit);
    result<void> look_back(in_flight deltas, std::span<const probe_partial> partials);
    std::vector<std::int32_t> worth_listing(std::size_t& in_use) const;

    // lasso_conclude.cpp
    void begin_first(const whole_sums& all);
    solution_numbers record(const whole_sums& all, const std::vector<double>& values);
    void begin_round(std::uint64_t number, std::span<const judgement> judgements,
                     const whole_sums& all);
    void begin_problem(const whole_sums& all);
    void begin_return(std::uint64_t number, const fit_sums& fit);

    // lasso_load.cpp
    result<void> load_course(const scheduled::saved_part& saved);
    bool may_be_under_way(const own_phase& p) const;

    scheduler_options options_;
    facts_table facts_;
    std::vector<double> values_;
    std::unique_ptr<scheduled::selection> order_;
    couplings couplings_;
    working_set working_;
    penalty_path path_;
    probe_rule rule_;
    newton_steps steps_;
    course course_;
    phases_under_way under_way_;
    std::optional<judged_values> judged_;
    std::vector<double>
        fresh_gradients_; // of its members of the working set, as long as nothing has changed since a probe
    std::vector<solution> solutions_;
    double refused_ = 0; // of its last phase, for inspectors; it is not saved
};

} // namespace troupe::lasso
