#include "apps/factorization/carry_over.hpp"

#include <algorithm>
#include <array>

#include "actors/scheduled/named_numbers.hpp"
#include "apps/factorization/coordinate_order.hpp"
#include "apps/factorization/rating_level.hpp"
#include "apps/factorization/settings.hpp"

namespace troupe::factorization {

namespace {

using scheduled::number_range;
using scheduled::saved_part;

error bad() {
    return {errc::protocol, "the saved parts of factorization do not fit together"};
}

// Rows of all items, from those of the items of each scheduler.
result<std::vector<float>> joined_items(const std::vector<saved_part>& schedulers,
                                        const scheduled::carried_site& before,
                                        const coordinate_rows& form) {
    const std::uint64_t columns = before.data.columns;
    std::vector<float> all(form.count() * columns);
    for (std::size_t s = 0; s < schedulers.size(); ++s) {
        const number_range own = before.variables[s];
        const auto items = scheduled::read_state<float>(schedulers[s], "item factors");
        if (!items)
            return items.failure();
        if (items->size() != form.count() * own.count)
            return bad();
        for (std::size_t row = 0; row < form.count(); ++row)
            std::ranges::copy(items->subspan(row * own.count, own.count),
                              all.begin() + static_cast<std::ptrdiff_t>(row * columns + own.first));
    }
    return all;
}

std::vector<float> items_of(std::span<const float> all, const number_range& own,
                            const coordinate_rows& form) {
    const std::size_t columns = all.size() / form.count();
    std::vector<float> items;
    for (std::size_t row = 0; row < form.count(); ++row) {
        const auto part = all.subspan(row * columns + own.first, own.count);
        items.insert(items.end(), part.begin(), part.end());
    }
    return items;
}

// In the place of what is there by this name.
template <class Numbers>
result<void> put(saved_part& part, const char* name, const Numbers& numbers, memory_pool& memory) {
    const auto found = std::ranges::find(part.names, name);
    if (found == part.names.end())
        return bad();
    auto made = scheduled::numbers_of(
        memory, std::span<const std::ranges::range_value_t<Numbers>>{numbers});
    if (!made)
        return made.failure();
    part.tensors.at(static_cast<std::size_t>(found - part.names.begin())) = std::move(*made);
    return {};
}

// A worker that knows of the phases up to that of the schedulers.
result<void> settle(saved_part& worker, std::span<const float> items, const rating_moments& all,
                    const coordinate_rows& form, memory_pool& memory) {
    const auto moments = scheduled::read_state<double>(worker, "moments");
    const auto residuals = scheduled::read_state<float>(worker, "residuals");
    if (const error* failure = scheduled::first_failure(moments, residuals))
        return *failure;
    if (moments->size() != 3)
        return bad();
    if (moments->front() == 0) { // it has not been told the mean
        std::vector<float> around(residuals->begin(), residuals->end());
        for (float& r : around)
            r -= static_cast<float>(level_of(all, form.has_biases).mean);
        if (auto done = put(worker, "residuals", around, memory); !done)
            return done;
        const std::array numbers{all.count, all.mean, all.squares};
        if (auto done = put(worker, "moments", numbers, memory); !done)
            return done;
    }
    return put(worker, "item factors", items, memory);
}

result<void> carry_coordinates(const scheduled::carried_site& before,
                               const scheduled::carried_site& now, const coordinate_rows& form,
                               scheduled::carried_run& run) {
    const auto items = joined_items(run.schedulers, before, form);
    const auto moments = scheduled::read_state<double>(run.schedulers.front(), "moments");
    if (const error* failure = scheduled::first_failure(items, moments))
        return *failure;
    if (moments->size() != 3)
        return bad();
    const rating_moments all{(*moments)[0], (*moments)[1], (*moments)[2]};
    const saved_part first = run.schedulers.front(); // but for the items all are the same
    run.schedulers.assign(now.variables.size(), first);
    for (std::size_t s = 0; s < now.variables.size(); ++s)
        if (auto done = put(run.schedulers[s], "item factors",
                            items_of(*items, now.variables[s], form), *now.memory);
            !done)
            return done;
    run.unapplied.clear(); // the items are all that they say
    if (run.phase == 0)
        return {};
    for (saved_part& worker : run.workers)
        if (auto done = settle(worker, *items, all, form, *now.memory); !done)
            return done;
    const coordinate_order order = order_of(now, form.groups());
    std::uint64_t begin = order.begin();
    if (run.phase > begin)
        begin += (run.phase - begin + order.sweep_phases() - 1) / order.sweep_phases() *
                 order.sweep_phases();
    run.phase = begin;
    return {};
}

} // namespace

result<void> carry_over(const scheduled::carried_site& before, const scheduled::carried_site& now,
                        scheduled::carried_run& run) {
    const auto settings = read_settings(now.settings);
    if (!settings)
        return settings.failure();
    if (before.rows != now.rows)
        return error{errc::usage, "users and their factors are with the workers: give as many by "
                                  "schedule.workers"};
    if (settings->by == method::sgd)
        return {};
    return carry_coordinates(before, now, {settings->rank, settings->has_biases}, run);
}

} // namespace troupe::factorization
