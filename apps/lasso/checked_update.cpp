#include "apps/lasso/checked_update.hpp"

#include <algorithm>
#include <cstddef>

namespace troupe::lasso {

namespace {

double correlation(const candidate_set& set, std::size_t i, std::size_t j) {
    const std::size_t size = set.values.size();
    const double square = set.gram[i * size + i] * set.gram[j * size + j];
    return std::abs(set.gram[i * size + j]) / std::sqrt(square);
}

std::vector<std::size_t> kept(const candidate_set& set, double rho, double& refused) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < set.values.size(); ++i) {
        double last = set.in_flight[i]; // what is no number is not below rho
        for (std::size_t k = 0; k < all.size() && last < rho; ++k)
            last = correlation(set, i, all[k]);
        if (last < rho)
            all.push_back(i);
        else
            refused = std::max(refused, last);
    }
    return all;
}

} // namespace

checked_outcome update_checked(candidate_set& set, const penalty& p, double rho) {
    checked_outcome outcome;
    outcome.is_kept.resize(set.values.size());
    for (const std::size_t i : kept(set, rho, outcome.refused)) {
        const double curvature = set.gram[i * set.values.size() + i];
        const double before = set.values[i], gradient = set.gradients[i];
        const double after = minimizer(gradient + curvature * before, curvature, p);
        const double delta = after - before;
        set.values[i] = after;
        outcome.is_kept[i] = true;
        outcome.decrease += delta * gradient - curvature / 2 * delta * delta -
                            p.l1 * (std::abs(after) - std::abs(before)) -
                            p.l2 / 2 * (after * after - before * before);
    }
    return outcome;
}

} // namespace troupe::lasso
