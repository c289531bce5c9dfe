#include "kernels/tensor/tensor.hpp"

#include <algorithm>
#include <optional>

namespace troupe {

std::string_view to_string(data_type type) noexcept {
    switch (type) {
    case data_type::float32:
        return "float32";
    case data_type::uint8:
        return "uint8";
    case data_type::int32:
        return "int32";
    case data_type::float64:
        return "float64";
    case data_type::int64:
        return "int64";
    }
    return "unknown";
}

tensor_shape::tensor_shape(std::initializer_list<std::size_t> dimensions)
    : tensor_shape{std::span{dimensions.begin(), dimensions.size()}} {}

tensor_shape::tensor_shape(std::span<const std::size_t> dimensions) : rank_{dimensions.size()} {
    TROUPE_CHECK(rank_ <= limits::tensor_rank_max,
                 "shapes from outside are checked before they get here");
    std::ranges::copy(dimensions, dimensions_.begin());
}

std::size_t tensor_shape::elements() const noexcept {
    std::size_t product = 1;
    for (std::size_t dimension : dimensions())
        product *= dimension;
    return product;
}

tensor_shape tensor_shape::with_first(std::size_t size) const {
    TROUPE_CHECK(rank_ > 0, "a scalar has no first axis");
    tensor_shape other = *this;
    other.dimensions_[0] = size;
    return other;
}

tensor_shape batch_of(std::size_t samples, const tensor_shape& sample) {
    TROUPE_CHECK(sample.rank() < limits::tensor_rank_max, "a batch has one axis more");
    std::array<std::size_t, limits::tensor_rank_max> dimensions{samples};
    std::ranges::copy(sample.dimensions(), dimensions.begin() + 1);
    return tensor_shape{std::span{dimensions.data(), sample.rank() + 1}};
}

tensor_shape tensor_shape::without_first() const {
    TROUPE_CHECK(rank_ > 0, "a scalar has no first axis");
    return tensor_shape{dimensions().subspan(1)};
}

std::string to_string(const tensor_shape& shape) {
    std::string text = "[";
    for (std::size_t axis = 0; axis < shape.rank(); ++axis)
        text += (axis == 0 ? "" : ", ") + std::to_string(shape[axis]);
    return text + "]";
}

namespace {

// The bytes of so many elements, or nothing where that overflows: shapes may come from outside.
std::optional<std::size_t> checked_bytes(data_type type, const tensor_shape& shape) noexcept {
    std::size_t bytes = size_of(type);
    for (const std::size_t dimension : shape.dimensions())
        if (__builtin_mul_overflow(bytes, dimension, &bytes))
            return std::nullopt;
    return bytes;
}

} // namespace

tensor::tensor(data_type type, tensor_shape shape, buffer_ref storage, std::size_t offset)
    : type_{type}, shape_{shape}, storage_{std::move(storage)}, offset_{offset} {
    const auto wanted = checked_bytes(type_, shape_);
    TROUPE_CHECK(storage_ && wanted && offset_ <= storage_->capacity() &&
                     *wanted <= storage_->capacity() - offset_,
                 "a tensor lies within its buffer");
    TROUPE_CHECK(offset_ % size_of(type_) == 0, "elements are aligned");
}

result<tensor> tensor::allocate(memory_pool& pool, data_type type, tensor_shape shape) {
    const auto bytes = checked_bytes(type, shape);
    if (!bytes)
        return error{errc::exhausted,
                     "a tensor of " + to_string(shape) + " is larger than any memory"};
    auto storage = pool.allocate(*bytes);
    if (!storage)
        return storage.failure();
    return tensor{type, shape, std::move(storage).value()};
}

tensor tensor::reshaped(tensor_shape shape) const {
    TROUPE_CHECK(shape.elements() == elements(), "reshaping keeps the number of elements");
    return tensor{type_, shape, storage_, offset_};
}

tensor tensor::rows(std::size_t first, std::size_t count) const {
    TROUPE_CHECK(shape_.rank() > 0 && first + count <= shape_[0], "rows lie within the tensor");
    const std::size_t row_bytes = shape_.without_first().elements() * size_of(type_);
    return tensor{type_, shape_.with_first(count), storage_, offset_ + first * row_bytes};
}

void tensor::check_readable(std::size_t element_bytes) const {
    TROUPE_CHECK(is_host(),
                 "elements in the memory of a device are taken out before they are read");
    TROUPE_CHECK(element_bytes == size_of(type_), "the elements are read as their own type");
}

} // namespace troupe
