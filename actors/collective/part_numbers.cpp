#include "actors/collective/part_numbers.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cpu/host_sums.hpp"

namespace troupe {

namespace {

constexpr std::size_t cached = 4096; // numbers of a step, summed in the first-level cache

const float* floats(const std::byte* from) {
    return reinterpret_cast<const float*>(from);
}

} // namespace

result<tensor> part_numbers::new_row(memory_pool& memory, std::size_t count) const {
    return half_ ? tensor::allocate(memory, data_type::uint8, {bytes(count)})
                 : tensor::allocate(memory, data_type::float32, {count});
}

bool part_numbers::is_row(const tensor& t, std::size_t count) const {
    return t.type() == (half_ ? data_type::uint8 : data_type::float32) &&
           t.shape() == tensor_shape{half_ ? bytes(count) : count};
}

tensor part_numbers::cut(const tensor& row, index_range numbers) const {
    return half_ ? row.rows(bytes(numbers.first), bytes(numbers.count))
                 : row.rows(numbers.first, numbers.count);
}

void part_numbers::add(const std::byte* x, const std::byte* y, std::byte* sum,
                       std::size_t count) const {
    if (!half_)
        return add_on_host(floats(x), floats(y), 1, reinterpret_cast<float*>(sum), count);
    std::array<float, cached> some;
    for (std::size_t i = 0; i < count; i += cached) {
        const std::size_t n = std::min(cached, count - i);
        decode_half_on_host(*half_, x + bytes(i), nullptr, some.data(), n);
        decode_half_on_host(*half_, y + bytes(i), some.data(), some.data(), n);
        encode_half_on_host(*half_, some.data(), sum + bytes(i), n);
    }
}

void part_numbers::add(const std::byte* x, const std::byte* y, float factor, float* sum,
                       std::size_t count) const {
    if (!half_)
        return add_on_host(floats(x), floats(y), factor, sum, count);
    std::array<std::byte, 2 * cached> rounded;
    for (std::size_t i = 0; i < count; i += cached) {
        const std::size_t n = std::min(cached, count - i);
        decode_half_on_host(*half_, x + bytes(i), nullptr, sum + i, n);
        decode_half_on_host(*half_, y + bytes(i), sum + i, sum + i, n);
        if (factor != 1)
            scale_on_host(sum + i, factor, sum + i, n);
        encode_half_on_host(*half_, sum + i, rounded.data(), n);
        decode_half_on_host(*half_, rounded.data(), nullptr, sum + i, n);
    }
}

void part_numbers::read(const std::byte* from, float* to, std::size_t count) const {
    if (half_)
        decode_half_on_host(*half_, from, nullptr, to, count);
    else
        std::memcpy(to, from, bytes(count));
}

void part_numbers::write(const float* from, std::byte* to, std::size_t count) const {
    if (half_)
        encode_half_on_host(*half_, from, to, count);
    else
        std::memcpy(to, from, bytes(count));
}

} // namespace troupe
