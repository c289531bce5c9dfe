// A tensor: a dense, row-major array in a reference-counted buffer. Copies share the elements.
//
// A tensor that somebody else may hold is never written: whoever writes has allocated it and not yet given it away,
// or has checked unique(). Weight stashing, messages and checkpoints rest on this rule.
//
// Elements may lie in a device's memory (memory_kind): `data()` is then an address of that device, for its back end alone.
//
// Threads: reading shared elements is safe from any thread; one tensor object belongs to one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "kernels/tensor/memory.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

enum class data_type : std::uint8_t { float32, uint8, int32, float64, int64 };

constexpr std::size_t size_of(data_type type) noexcept {
    return type == data_type::uint8                                 ? 1
           : type == data_type::float64 || type == data_type::int64 ? 8
                                                                    : 4;
}
std::string_view to_string(data_type type) noexcept;

// The dimensions of a tensor, outermost first; rank 0 is a scalar. A value.
class tensor_shape {
  public:
    constexpr tensor_shape() noexcept = default;
    tensor_shape(std::initializer_list<std::size_t> dimensions);
    explicit tensor_shape(
        std::span<const std::size_t> dimensions); // at most limits::tensor_rank_max

    std::size_t rank() const noexcept { return rank_; }
    std::size_t operator[](std::size_t axis) const noexcept { return dimensions_[axis]; }
    std::span<const std::size_t> dimensions() const noexcept { return {dimensions_.data(), rank_}; }
    std::size_t elements() const noexcept; // product of the dimensions; 1 for a scalar

    // The same shape with another size along the first axis; rank must be at least 1.
    tensor_shape with_first(std::size_t size) const;
    // The shape without its first axis; rank must be at least 1.
    tensor_shape without_first() const;

    friend bool operator==(const tensor_shape&, const tensor_shape&) noexcept = default;

  private:
    std::array<std::size_t, limits::tensor_rank_max> dimensions_{};
    std::size_t rank_ = 0;
};

std::string to_string(const tensor_shape& shape); // "[64, 1, 28, 28]"

// The shape of so many samples of this shape, whose rank must be below limits::tensor_rank_max.
tensor_shape batch_of(std::size_t samples, const tensor_shape& sample);

class tensor {
  public:
    tensor() noexcept = default; // no elements, no buffer

    // Takes the elements at `offset` bytes into `storage`, which must be large enough and aligned for the type.
    tensor(data_type type, tensor_shape shape, buffer_ref storage, std::size_t offset = 0);

    // New elements with unspecified values. errc::exhausted also for a shape whose bytes no machine can count.
    static result<tensor> allocate(memory_pool& pool, data_type type, tensor_shape shape);

    explicit operator bool() const noexcept { return static_cast<bool>(storage_); }
    data_type type() const noexcept { return type_; }
    const tensor_shape& shape() const noexcept { return shape_; }
    std::size_t elements() const noexcept { return shape_.elements(); }
    std::size_t bytes() const noexcept { return storage_ ? elements() * size_of(type_) : 0; }
    bool unique() const noexcept { return storage_.unique(); }
    // Whether its elements can be read outside the work of a device.
    bool is_host() const noexcept {
        return !storage_ || storage_->pool().kind() == memory_kind::host;
    }
    const buffer_ref& storage() const noexcept { return storage_; }

    const std::byte* data() const noexcept {
        return storage_ ? storage_->data() + offset_ : nullptr;
    }
    std::byte* mutable_data() noexcept { return storage_ ? storage_->data() + offset_ : nullptr; }

    // The elements as T, which must be the element type, in host memory.
    template <class T>
    std::span<const T> values() const {
        check_readable(sizeof(T));
        return {reinterpret_cast<const T*>(data()), storage_ ? elements() : 0};
    }
    template <class T>
    std::span<T> mutable_values() {
        check_readable(sizeof(T));
        return {reinterpret_cast<T*>(mutable_data()), storage_ ? elements() : 0};
    }

    // The same elements in another shape of as many elements.
    tensor reshaped(tensor_shape shape) const;
    // Rows first..first+count of the first axis, sharing the elements.
    tensor rows(std::size_t first, std::size_t count) const;

  private:
    void check_readable(std::size_t element_bytes) const;

    data_type type_ = data_type::float32;
    tensor_shape shape_;
    buffer_ref storage_;
    std::size_t offset_ = 0;
};

} // namespace troupe
