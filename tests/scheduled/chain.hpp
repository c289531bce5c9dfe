// A program for tests of the actors that run programs: what it computes is of no use, but every number depends on
// everything before it, and on the order, so that one delta that is applied twice, late or in another order changes the
// bits of the end.
#pragma once

#include "actors/scheduled/data_pieces.hpp"
#include "actors/scheduled/program.hpp"
#include "tests/scheduled/chain.capnp.h"

namespace troupe::test {

scheduled::program chain_program();

// Rows of a dense matrix with targets, made up from a seed.
class made_rows final : public scheduled::piece_source {
  public:
    made_rows(std::uint64_t rows, std::uint64_t columns, std::uint64_t rows_per_piece = 3);

    scheduled::data_shape shape() const override {
        return {rows_, columns_, rows_ * columns_, false};
    }
    std::uint64_t row_work(std::uint64_t) const override { return columns_; }
    std::uint64_t column_work(std::uint64_t) const override { return rows_; }
    result<std::optional<scheduled::rows_piece>> next(std::uint64_t rows_max,
                                                      memory_pool& memory) override;
    result<void> rewind() override {
        row_ = 0;
        return {};
    }

  private:
    const std::uint64_t rows_;
    const std::uint64_t columns_;
    const std::uint64_t rows_per_piece_;
    std::uint64_t row_ = 0;
};

} // namespace troupe::test
