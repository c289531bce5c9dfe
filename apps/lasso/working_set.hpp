// The variables that phases choose from until the next probe: those that are not 0, and those that break the conditions of
// the optimum most. All schedulers know all of them, as each has to account for what the others change. A pure value.
//
// Source: working sets that grow with the number of variables in use, as in Celer (Massias, Gramfort, Salmon, "Celer: a fast
// solver for the Lasso with dual extrapolation", 2018).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "apps/lasso/column_facts.hpp"
#include "apps/lasso/messages.hpp"

namespace troupe::lasso {

struct working_set_rule {
    double l1 = 0;          // of the penalty
    std::size_t size = 0;   // unless more are in use
    bool takes_all = false; // that are listed, whatever the size
};

// Growth of the set, over the variables in use.
inline constexpr std::size_t working_set_growth = 2;

// Variables that are not in use must come this close to the penalty to be worth an update, as a share of it.
inline constexpr double near_share = 0.95;

// The first size, for so many columns: products of so many columns with one another cost about as much as a few probes.
std::size_t first_size(std::uint64_t columns) noexcept;

// Whether the set should rather be all of so many variables: because most of them will be in it anyway, or because they are
// few beside the `probes` that this saves.
bool is_whole_set_due(std::uint64_t columns, double used, std::uint32_t probes) noexcept;

class working_set {
  public:
    // `own`: this scheduler's variables; phases in flight: `window` before each.
    working_set(scheduled::number_range own, std::uint32_t window)
        : own_range_{own}, window_{window} {}

    // The set that follows from the judgements of probe `number`.
    void replace(std::uint64_t number, std::span<const judgement> judgements,
                 const working_set_rule& rule, const column_form& form);

    // A phase has changed this variable: it is in the set from now on. errc::protocol if it never was.
    result<void> include(std::int32_t column);

    // Whether these are all of this scheduler's members, of which there are some.
    bool are_all(const std::vector<std::int64_t>& columns) const;
    // This scheduler's members, rising.
    std::span<const std::int64_t> own() const noexcept { return own_; }
    bool is_own(std::int64_t column) const noexcept;
    std::size_t size() const noexcept;

    // Variables of other schedulers that the phases in flight at phase `number` may change, rising.
    std::vector<std::int32_t> others(std::uint64_t number) const;
    // Facts of a variable of another scheduler that may have been changed by a phase in flight; null if it cannot.
    const column_facts* facts(std::int32_t column) const;

    struct contents {
        std::vector<std::int64_t> own;
        std::vector<std::int64_t> others; // column, when it left
        std::vector<double> facts;        // of each of these: mean, square, scale, entries
    };
    contents save() const;
    result<void> load(const contents& saved);

  private:
    struct other {
        column_facts facts;
        std::uint64_t left = 0; // the probe that put it out of the set
    };

    void put_in(std::int32_t column, const column_facts& facts);

    scheduled::number_range own_range_;
    std::uint64_t window_;
    std::vector<std::int64_t> own_;
    std::map<std::int32_t, other> others_;
};

} // namespace troupe::lasso
