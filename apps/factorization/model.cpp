#include "apps/factorization/model.hpp"

#include <algorithm>
#include <cmath>

#include "schemas/base/check.hpp"

namespace troupe::factorization {

double predict(const factor_model& model, std::uint64_t user, std::uint64_t item) {
    TROUPE_CHECK(user < model.users && item < model.items, "the model has the user and the item");
    const float* const p = model.user_factors.data() + user * model.rank;
    const float* const q = model.item_factors.data() + item * model.rank;
    double sum = model.mean + static_cast<double>(model.user_biases[user]) +
                 static_cast<double>(model.item_biases[item]);
    for (std::uint32_t k = 0; k < model.rank; ++k)
        sum += static_cast<double>(p[k]) * static_cast<double>(q[k]);
    return sum;
}

double predict_known(const factor_model& model, std::optional<std::uint64_t> user,
                     std::optional<std::uint64_t> item) {
    if (user && item)
        return predict(model, *user, *item);
    return model.mean + (user ? static_cast<double>(model.user_biases.at(*user)) : 0) +
           (item ? static_cast<double>(model.item_biases.at(*item)) : 0);
}

double rmse(const factor_model& model, std::span<const rating_entry> entries) {
    double squares = 0;
    for (const rating_entry& entry : entries) {
        const double e = static_cast<double>(entry.rating) - predict(model, entry.user, entry.item);
        squares += e * e;
    }
    return entries.empty() ? 0 : std::sqrt(squares / static_cast<double>(entries.size()));
}

std::vector<ranked_item> rank(const factor_model& model, std::uint64_t user, std::size_t n,
                              std::span<const std::int32_t> seen) {
    return item_ranker{model}.top(user, n, seen);
}

item_ranker::item_ranker(const factor_model& model)
    : model_{model}, factors_(model.item_factors.size()), scores_(model.items) {
    for (std::uint64_t i = 0; i < model.items; ++i)
        for (std::uint64_t k = 0; k < model.rank; ++k)
            factors_[k * model.items + i] = model.item_factors[i * model.rank + k];
}

std::vector<ranked_item> item_ranker::top(std::uint64_t user, std::size_t n,
                                          std::span<const std::int32_t> seen) {
    TROUPE_CHECK(user < model_.users, "the model has the user");
    const float start = static_cast<float>(model_.mean) + model_.user_biases[user];
    for (std::size_t i = 0; i < scores_.size(); ++i)
        scores_[i] = start + model_.item_biases[i];
    for (std::uint64_t k = 0; k < model_.rank; ++k) {
        const float p = model_.user_factors[user * model_.rank + k];
        const float* const q = factors_.data() + k * model_.items;
        for (std::size_t i = 0; i < scores_.size(); ++i)
            scores_[i] += p * q[i];
    }
    // A heap whose first one is the worst that is kept.
    const auto is_better = [](const ranked_item& a, const ranked_item& b) {
        return a.prediction != b.prediction ? a.prediction > b.prediction : a.item < b.item;
    };
    std::vector<ranked_item> kept;
    auto next_seen = seen.begin();
    for (std::uint64_t i = 0; i < scores_.size() && n > 0; ++i) {
        if (next_seen != seen.end() && static_cast<std::uint64_t>(*next_seen) == i) {
            ++next_seen;
            continue;
        }
        const ranked_item candidate{i, scores_[i]};
        if (kept.size() == n && !is_better(candidate, kept.front()))
            continue;
        if (kept.size() == n) {
            std::ranges::pop_heap(kept, is_better);
            kept.pop_back();
        }
        kept.push_back(candidate);
        std::ranges::push_heap(kept, is_better);
    }
    std::ranges::sort_heap(kept, is_better);
    return kept;
}

} // namespace troupe::factorization
