// The numbers in the parts of a reduction: float32, or numbers of 16 bits, to which every sum is rounded.
//
// So a sum has the same bits at every rank that it is sent on to, and at all ranks that add the same two parts.
//
// Threads: any. Memory: host memory, read and written on the caller's thread.
#pragma once

#include <optional>

#include "actors/collective/all_reduce.hpp"
#include "kernels/ops/codecs.hpp"
#include "kernels/tensor/tensor.hpp"

namespace troupe {

class part_numbers {
  public:
    part_numbers() = default; // float32
    explicit part_numbers(std::optional<half_format> half) : half_{half} {}

    bool is_half() const noexcept { return half_.has_value(); }
    std::size_t bytes(std::size_t count) const noexcept { return count * (half_ ? 2 : 4); }

    // A row of so many numbers: float32, or uint8 with two bytes per number (ops/codecs.hpp). errc::exhausted.
    result<tensor> new_row(memory_pool& memory, std::size_t count) const;
    bool is_row(const tensor& t, std::size_t count) const;
    tensor cut(const tensor& row, index_range numbers) const; // no copy
    const std::byte* at(const tensor& row, std::size_t number) const {
        return row.data() + bytes(number);
    }

    // sum = x + y
    void add(const std::byte* x, const std::byte* y, std::byte* sum, std::size_t count) const;
    // sum = factor * (x + y), rounded, as float32.
    void add(const std::byte* x, const std::byte* y, float factor, float* sum,
             std::size_t count) const;
    void read(const std::byte* from, float* to, std::size_t count) const;
    void write(const float* from, std::byte* to, std::size_t count) const;

  private:
    std::optional<half_format> half_;
};

} // namespace troupe
