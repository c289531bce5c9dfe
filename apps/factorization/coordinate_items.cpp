#include "apps/factorization/coordinate_items.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "actors/scheduled/named_numbers.hpp"
#include "apps/factorization/coordinate_start.hpp"

namespace troupe::factorization {

namespace {

// Sums the numbers of all workers, in their order.
result<std::vector<double>> sum_at(std::span<const scheduled::payload> partials, std::size_t at,
                                   std::size_t size) {
    std::vector<double> sums(size);
    for (const scheduled::payload& partial : partials) {
        const auto part = scheduled::read<double>(partial, at, size, "the sums of a set of items");
        if (!part)
            return part.failure();
        for (std::size_t i = 0; i < size; ++i)
            sums[i] += (*part)[i];
    }
    return sums;
}

} // namespace

coordinate_items::coordinate_items(const scheduled::scheduler_site& site,
                                   const factorization_settings& settings)
    : memory_{*site.memory}, seed_{site.seed}, form_{settings.rank, settings.has_biases},
      order_{order_of(site, form_.groups())}, sets_{sets_of(site, order_)},
      own_{site.variables[site.scheduler]},
      items_(form_.count() * own_.count), progress_{settings.penalty, site.stop.gap} {}

result<scheduled::phase> coordinate_items::schedule(std::uint64_t number, random_stream&) {
    return scheduled::phase{number, order_.step(number).what == coordinate_step::kind::probe, {}};
}

result<scheduled::payload> coordinate_items::pull(const scheduled::phase& p, scheduled::in_flight,
                                                  std::span<const scheduled::payload> partials) {
    const coordinate_step step = order_.step(p.number);
    if (step.what == coordinate_step::kind::moments)
        return pull_moments(partials);
    if (step.what != coordinate_step::kind::items)
        return scheduled::payload{};
    const scheduled::number_range set = sets_[step.scheduler * order_.sets + step.set];
    const auto products = sum_at(partials, 0, set.count), weights = sum_at(partials, 1, set.count);
    if (const error* failure = scheduled::first_failure(products, weights))
        return *failure;
    std::vector<float> factors(set.count);
    for (std::size_t i = 0; i < set.count; ++i)
        factors[i] = (*weights)[i] > 0 ? static_cast<float>((*products)[i] / (*weights)[i]) : 0.0F;
    std::ranges::copy(factors, items_.begin() + static_cast<std::ptrdiff_t>(
                                                    form_.of_group(step.group) * own_.count +
                                                    (set.first - own_.first)));
    return scheduled::payload_of(memory_, factors);
}

result<scheduled::payload>
coordinate_items::pull_moments(std::span<const scheduled::payload> partials) {
    rating_moments all;
    for (const scheduled::payload& partial : partials) {
        const auto m = scheduled::read<double>(partial, 0, 3, "the mean of a worker's ratings");
        if (!m)
            return m.failure();
        all.add({(*m)[0], (*m)[1], (*m)[2]});
    }
    begin(all);
    return scheduled::payload_of(memory_, std::array{all.count, all.mean, all.squares});
}

void coordinate_items::begin(const rating_moments& all) {
    all_ = all;
    draw_items(items_, form_, seed_, own_, all);
}

result<void> coordinate_items::absorb(const scheduled::phase_deltas& deltas) {
    if (deltas.number > 0)
        return {};
    const auto m = scheduled::read<double>(deltas.changes, 0, 3, "the mean of the ratings");
    if (!m)
        return m.failure();
    begin({(*m)[0], (*m)[1], (*m)[2]});
    return {};
}

result<scheduled::payload> coordinate_items::judge(std::uint64_t, scheduled::in_flight,
                                                   std::span<const scheduled::payload> partials) {
    const auto sums = sum_of(partials);
    if (!sums)
        return sums.failure();
    return to_payload(memory_, *sums);
}

result<scheduled::standing>
coordinate_items::conclude(std::uint64_t, std::span<const scheduled::payload> judgements) {
    const auto sums = sum_of(judgements);
    if (!sums)
        return sums.failure();
    return progress_.conclude(*sums, "use a larger program.factorization.penalty");
}

std::string coordinate_items::describe(const scheduled::phase& p) const {
    return text_of(order_.step(p.number), form_);
}

// ---- as it is saved ----

result<scheduled::saved_part> coordinate_items::save() const {
    scheduled::state_writer write{memory_};
    write("item factors", items_)("moments", std::array{all_.count, all_.mean, all_.squares})(
        "last", progress_.state());
    return std::move(write).finish();
}

result<void> coordinate_items::load(const scheduled::saved_part& saved) {
    const auto items = scheduled::read_state<float>(saved, "item factors");
    const auto moments = scheduled::read_state<double>(saved, "moments");
    const auto last = read_progress(saved);
    if (const error* failure = scheduled::first_failure(items, moments, last))
        return *failure;
    if (items->size() != items_.size() || moments->size() != 3)
        return error{errc::protocol, "the saved items of factorization have other sizes"};
    items_.assign(items->begin(), items->end());
    all_ = {(*moments)[0], (*moments)[1], (*moments)[2]};
    progress_.restore(*last);
    return {};
}

} // namespace troupe::factorization
