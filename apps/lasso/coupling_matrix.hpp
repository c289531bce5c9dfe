// The products of a set of columns with one another, as the solver reads them: dense, or without its zeros where they are
// many. A pure value; never changes once it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::lasso {

class coupling_matrix {
  public:
    coupling_matrix() = default;
    // So many rows of so many numbers, one after the other.
    coupling_matrix(std::size_t size, std::vector<double> numbers)
        : size_{size}, numbers_{std::move(numbers)} {}

    // Of rows that are made one after the other; `row(i, numbers)` writes all numbers of row i.
    template <class WriteRow>
    static coupling_matrix of_rows(std::size_t size, WriteRow row);

    std::size_t size() const noexcept { return size_; }
    // Numbers that are read for all rows once.
    std::size_t entries() const noexcept { return numbers_.size(); }
    double at(std::size_t i, std::size_t j) const;

    // to += factor * row i; as many numbers as there are rows
    void add_row(std::size_t i, double factor, double* to) const {
        if (starts_.empty()) {
            const double* from = numbers_.data() + i * size_;
            for (std::size_t j = 0; j < size_; ++j)
                to[j] += factor * from[j];
            return;
        }
        for (std::size_t e = starts_[i]; e < starts_[i + 1]; ++e)
            to[places_[e]] += factor * numbers_[e];
    }

  private:
    std::size_t size_ = 0;
    std::vector<double> numbers_;
    std::vector<std::size_t> starts_;   // of the rows, if zeros are left out
    std::vector<std::uint32_t> places_; // of the numbers in their rows
};

// Below this share of numbers that are not 0 the zeros are left out.
inline constexpr double dense_share = 0.25;

template <class WriteRow>
coupling_matrix coupling_matrix::of_rows(std::size_t size, WriteRow row) {
    const auto entries_max = static_cast<std::size_t>(dense_share * static_cast<double>(size) *
                                                      static_cast<double>(size));
    std::vector<double> numbers(size);
    coupling_matrix m;
    m.size_ = size;
    m.starts_.push_back(0);
    for (std::size_t i = 0; i < size && m.numbers_.size() <= entries_max; ++i) {
        row(i, std::span{numbers});
        for (std::size_t j = 0; j < size; ++j)
            if (numbers[j] != 0) {
                m.numbers_.push_back(numbers[j]);
                m.places_.push_back(static_cast<std::uint32_t>(j));
            }
        m.starts_.push_back(m.numbers_.size());
    }
    if (m.numbers_.size() <= entries_max)
        return m;
    m = {size, std::vector<double>(size * size)};
    for (std::size_t i = 0; i < size; ++i)
        row(i, std::span{m.numbers_}.subspan(i * size, size));
    return m;
}

inline double coupling_matrix::at(std::size_t i, std::size_t j) const {
    if (starts_.empty())
        return numbers_[i * size_ + j];
    for (std::size_t e = starts_[i]; e < starts_[i + 1]; ++e)
        if (places_[e] == j)
            return numbers_[e];
    return 0;
}

} // namespace troupe::lasso
