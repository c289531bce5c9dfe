#include "actors/peers/shared_weights.hpp"

#include "schemas/base/check.hpp"

namespace troupe {

void shared_weights::begin(std::span<const float> first) {
    std::call_once(begun_, [&] { values_.assign(first.begin(), first.end()); });
}

void shared_weights::add(std::span<const float> before, std::span<const float> after) {
    TROUPE_CHECK(before.size() == values_.size() && after.size() == values_.size(),
                 "updates are of all numbers");
    for (std::size_t i = 0; i < values_.size(); ++i) {
        if (before[i] == after[i])
            continue;
        std::atomic_ref<float> shared{values_[i]};
        float seen = before[i];
        float next = after[i];
        while (!shared.compare_exchange_weak(seen, next, std::memory_order_relaxed))
            next = seen + (after[i] - before[i]);
    }
}

void shared_weights::read(std::span<float> into) {
    TROUPE_CHECK(into.size() == values_.size(), "all numbers are read");
    for (std::size_t i = 0; i < values_.size(); ++i)
        into[i] = std::atomic_ref<float>{values_[i]}.load(std::memory_order_relaxed);
}

} // namespace troupe
