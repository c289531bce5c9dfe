#include "apps/lasso/facts_table.hpp"

#include "actors/scheduled/filled_state.hpp"

namespace troupe::lasso {

result<void> facts_table::append(memory_pool& memory, bool are_weighted,
                                 scheduled::saved_part& to) const {
    // Scales of columns follow from their squares, but not from weighted ones.
    const bool has_scales = are_weighted && is_scaled_;
    const std::size_t each = numbers_of_each(is_centred_);
    const auto facts = [&](std::span<double> numbers) {
        for (std::size_t i = 0; i < size(); ++i) {
            const column_facts f = (*this)[i];
            if (is_centred_)
                numbers[2 * i] = f.mean;
            numbers[each * i + each - 1] =
                has_scales && f.square > 0 ? f.scale * f.scale : f.square;
        }
    };
    const auto squares = [&](std::span<double> numbers) {
        std::ranges::copy(std::span{squares_}.first(numbers.size()), numbers.begin());
    };
    const auto entries = [&](std::span<std::int32_t> numbers) {
        for (std::size_t i = 0; i < numbers.size(); ++i)
            numbers[i] = static_cast<std::int32_t>(entries_[i]);
    };
    using scheduled::append_filled;
    for (const auto& appended :
         {append_filled<double>(memory, "facts", each * size(), facts, to),
          append_filled<double>(memory, "weighted squares", are_weighted ? size() : 0, squares, to),
          append_filled<std::int32_t>(memory, "entries", entries_.size(), entries, to)})
        if (!appended)
            return appended.failure();
    return {};
}

} // namespace troupe::lasso
