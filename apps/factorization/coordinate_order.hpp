// Which phase of factorization by coordinates does what, as pure arithmetic.
//
// Phase 0 brings the mean of the ratings. A sweep follows the other: a group of phases for the biases, if there are any, one
// for each factor, and a probe. A group has phases of sets of items, one after the other at each scheduler, and as many idle
// ones behind them as there are phases in flight: so the next group, and the probe, find the changes of all of its sets
// applied, and the result does not depend on the window.
//
// Threads: values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "actors/scheduled/program.hpp"

namespace troupe::factorization {

// Factors as rows, each with a number for every user, or item: the rank's, and with biases those of the users and the items.
struct coordinate_rows {
    std::size_t rank = 1;
    bool has_biases = true;

    std::size_t count() const noexcept { return rank + (has_biases ? 2 : 0); }
    std::size_t user_biases() const noexcept { return rank; }
    std::size_t item_biases() const noexcept { return rank + 1; }
    std::uint64_t groups() const noexcept { return rank + (has_biases ? 1 : 0); }
    // The row whose items the group changes.
    std::size_t of_group(std::uint64_t group) const noexcept {
        return !has_biases ? group : group == 0 ? item_biases() : group - 1;
    }
};

struct coordinate_step {
    enum class kind : std::uint8_t { moments, idle, items, probe };
    kind what = kind::idle;
    std::uint64_t sweep = 0;
    std::uint64_t group = 0;     // of the sweep
    bool begins_group = false;   // the first phase of its group
    std::uint32_t scheduler = 0; // whose items
    std::uint64_t set = 0;       // of the scheduler's, which may have fewer: then no items
};

struct coordinate_order {
    std::uint32_t schedulers = 1;
    std::uint32_t window = 0;
    std::uint64_t sets = 1;   // of the scheduler that has most
    std::uint64_t groups = 1; // of a sweep

    std::uint64_t begin() const noexcept { return std::uint64_t{1} + window; }
    std::uint64_t group_phases() const noexcept { return sets * schedulers + window; }
    std::uint64_t sweep_phases() const noexcept { return groups * group_phases() + 1; }

    coordinate_step step(std::uint64_t number) const noexcept {
        coordinate_step s;
        if (number < begin()) {
            s.what = number == 0 ? coordinate_step::kind::moments : coordinate_step::kind::idle;
            return s;
        }
        s.sweep = (number - begin()) / sweep_phases();
        const std::uint64_t at = (number - begin()) % sweep_phases();
        s.group = at / group_phases();
        const std::uint64_t in_group = at % group_phases();
        if (at + 1 == sweep_phases()) {
            s.what = coordinate_step::kind::probe;
        } else if (in_group < sets * schedulers) {
            // Each scheduler has one of as many phases in a row as there are schedulers.
            s.what = coordinate_step::kind::items;
            s.scheduler = static_cast<std::uint32_t>(number % schedulers);
            s.set = in_group / schedulers;
            s.begins_group = in_group == 0;
        }
        return s;
    }
};

// Items of a set, by the program's choice if the app file gives none: all at once, or some for each phase in flight.
inline std::uint64_t set_size(const scheduled::program_site& site) {
    std::uint64_t most = 1;
    for (const scheduled::number_range& range : site.variables)
        most = std::max(most, range.count);
    const std::uint64_t parts = std::max<std::uint64_t>(1, 4 * std::uint64_t{site.schedule.window});
    return site.schedule.set > 0 ? site.schedule.set
                                 : std::max<std::uint64_t>(1, (most + parts - 1) / parts);
}

inline coordinate_order order_of(const scheduled::program_site& site, std::uint64_t groups) {
    const std::uint64_t size = set_size(site);
    coordinate_order order{static_cast<std::uint32_t>(site.variables.size()), site.schedule.window,
                           1, groups};
    for (const scheduled::number_range& range : site.variables)
        order.sets = std::max(order.sets, (range.count + size - 1) / size);
    return order;
}

// The sets of all schedulers, that of scheduler s and number k at s * order.sets + k; they follow each other.
inline std::vector<scheduled::number_range> sets_of(const scheduled::program_site& site,
                                                    const coordinate_order& order) {
    const std::uint64_t size = set_size(site);
    std::vector<scheduled::number_range> sets;
    for (const scheduled::number_range& range : site.variables)
        for (std::uint64_t k = 0; k < order.sets; ++k) {
            const std::uint64_t first = std::min(range.count, k * size);
            sets.push_back({range.first + first, std::min(size, range.count - first)});
        }
    return sets;
}

// For inspectors.
inline std::string text_of(const coordinate_step& step, const coordinate_rows& rows) {
    switch (step.what) {
    case coordinate_step::kind::moments:
        return "mean of the ratings";
    case coordinate_step::kind::probe:
        return "probe after sweep " + std::to_string(step.sweep + 1);
    case coordinate_step::kind::idle:
        return "waits for the phases in flight";
    case coordinate_step::kind::items:
        break;
    }
    const std::string of = " of set " + std::to_string(step.set + 1) + " of scheduler " +
                           std::to_string(step.scheduler);
    return rows.has_biases && step.group == 0
               ? "biases" + of
               : "factor " + std::to_string(rows.of_group(step.group) + 1) + of;
}

} // namespace troupe::factorization
