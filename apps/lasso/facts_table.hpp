// Facts of each of a scheduler's columns, in no more numbers than the model needs: 8 to 28 bytes each, as there may
// be millions. A value. Errors: errc::exhausted where the pool has no room for what is saved.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "apps/lasso/column_facts.hpp"

namespace troupe::lasso {

class facts_table {
  public:
    facts_table(const column_form& form, bool is_sparse)
        : is_centred_{form.is_centred}, is_scaled_{form.has_unit_norm}, is_sparse_{is_sparse} {}

    std::size_t size() const noexcept { return squares_.size(); }
    bool empty() const noexcept { return squares_.empty(); }

    column_facts operator[](std::size_t i) const noexcept {
        return {is_centred_ ? means_[i] : 0.0, squares_[i], is_scaled_ ? scales_[i] : 1.0,
                is_sparse_ ? static_cast<double>(entries_[i]) : 0.0};
    }
    void set(std::size_t i, const column_facts& facts) noexcept {
        squares_[i] = facts.square;
        if (is_centred_)
            means_[i] = facts.mean;
        if (is_scaled_)
            scales_[i] = facts.scale;
        if (is_sparse_)
            entries_[i] = static_cast<std::uint32_t>(facts.entries);
    }
    // The number of columns that are not constant.
    std::size_t count_varying() const noexcept {
        return static_cast<std::size_t>(
            std::ranges::count_if(squares_, [](double square) { return square > 0; }));
    }
    // New facts are those of constant columns.
    void resize(std::size_t count) {
        squares_.resize(count);
        means_.resize(is_centred_ ? count : 0);
        scales_.resize(is_scaled_ ? count : 0, 1.0);
        entries_.resize(is_sparse_ ? count : 0);
    }

    // Numbers that "facts" has of each column: its mean, if columns are centred, and its square.
    static constexpr std::size_t numbers_of_each(bool is_centred) noexcept {
        return is_centred ? 2 : 1;
    }
    // Appends what lasso_scheduler loads; `are_weighted`: squares are of weighted rows.
    result<void> append(memory_pool& memory, bool are_weighted, scheduled::saved_part& to) const;

  private:
    bool is_centred_, is_scaled_, is_sparse_;
    std::vector<double> squares_, means_, scales_;
    std::vector<std::uint32_t> entries_;
};

} // namespace troupe::lasso
