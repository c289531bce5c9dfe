// The products of a set of columns with one another, as the solver reads them: dense, or without its zeros where they are
// many. A pure value; never changes once it is made.
//
//     coupling_matrix_builder builder{size, products};
//     for (...) {
//         builder.add(j, product);         // of the row that is being made, in any order, each j at most once
//         builder.end_row();
//     }
//     const coupling_matrix m = std::move(builder).finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::lasso {

class coupling_matrix {
  public:
    coupling_matrix() = default;
    // So many rows of so many numbers, one after the other.
    coupling_matrix(std::size_t size, std::vector<double> numbers)
        : size_{size}, numbers_{std::move(numbers)} {}

    std::size_t size() const noexcept { return size_; }
    // Numbers that are read for all rows once.
    std::size_t entries() const noexcept { return numbers_.size(); }
    bool is_dense() const noexcept { return starts_.empty(); }
    double at(std::size_t i, std::size_t j) const {
        if (starts_.empty())
            return numbers_[i * size_ + j];
        for (std::size_t e = starts_[i]; e < starts_[i + 1]; ++e)
            if (places_[e] == j)
                return numbers_[e];
        return 0;
    }

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
    friend class coupling_matrix_builder;

    std::size_t size_ = 0;
    std::vector<double> numbers_;
    std::vector<std::size_t> starts_;   // of the rows, if zeros are left out
    std::vector<std::uint32_t> places_; // of the numbers in their rows
};

class coupling_matrix_builder {
  public:
    // `products`: so many will be added.
    coupling_matrix_builder(std::size_t size, std::size_t products) {
        const double all = static_cast<double>(size) * static_cast<double>(size);
        made_.size_ = size;
        is_dense_ = static_cast<double>(products) >= dense_share * all;
        if (is_dense_) {
            made_.numbers_.resize(size * size);
            return;
        }
        made_.numbers_.reserve(products);
        made_.places_.reserve(products);
        made_.starts_.push_back(0);
    }

    void add(std::size_t j, double product) {
        if (is_dense_) {
            made_.numbers_[row_ * made_.size_ + j] = product;
            return;
        }
        made_.numbers_.push_back(product);
        made_.places_.push_back(static_cast<std::uint32_t>(j));
    }
    void end_row() {
        ++row_;
        if (!is_dense_)
            made_.starts_.push_back(made_.numbers_.size());
    }

    coupling_matrix finish() && { return std::move(made_); }

  private:
    // Below this share of numbers that are not 0 the zeros are left out.
    static constexpr double dense_share = 0.25;

    coupling_matrix made_;
    bool is_dense_ = false;
    std::size_t row_ = 0; // that is being made
};

} // namespace troupe::lasso
