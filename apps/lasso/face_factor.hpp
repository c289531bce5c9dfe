// The Cholesky factor of products of a few variables, which follows as they change: a variable that comes or goes costs
// about the square of their number. A pure value; its bits depend on the order in which variables came and went.
//
// Source: up- and downdating by Givens rotations, Golub and Van Loan, "Matrix Computations", 6.5.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace troupe::lasso {

class face_factor {
  public:
    using product_of =
        std::function<double(std::size_t, std::size_t)>; // of two variables; symmetric

    std::size_t size() const noexcept { return variables_.size(); }
    // In the order of the factor's rows.
    const std::vector<std::size_t>& variables() const noexcept { return variables_; }

    // Factors the products of these variables, which rise: takes out those that are no more among them, and puts in those
    // that are new. One whose column follows from those before it, but for rounding, is left out. Returns the multiply-adds.
    double follow(const std::vector<std::size_t>& variables, const product_of& product);
    // The number of multiply-adds that it takes to make the factor of the products of these anew.
    static double work(std::size_t variables) noexcept;

    // Solves products * x = numbers, a number for each variable in the factor's order; in place. Returns the multiply-adds.
    double solve(std::vector<double>& numbers);

  private:
    double append(std::size_t variable, const product_of& product);
    double remove(std::size_t at);
    double* row(std::size_t i) noexcept { return rows_.data() + i * stride_; }
    void grow(std::size_t stride);
    void solve_transposed(std::vector<double>& numbers);

    std::vector<std::size_t> variables_;
    std::size_t stride_ = 0;
    std::vector<double> rows_; // of U, where U'U are the products; below the diagonal anything
};

} // namespace troupe::lasso
