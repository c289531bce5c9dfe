#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/ops/payload.hpp"
#include "kernels/reference/reference_operations.hpp"
#include "schemas/base/philox.hpp"

namespace troupe {

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

float float_at(const tensor& t, std::size_t i) {
    return t.values<float>()[i];
}

// Writes what was decoded of element i.
void put(const decode_operands& o, std::size_t i, float decoded) {
    const float scaled = o.factor * decoded;
    o.output.mutable_values<float>()[i] =
        o.addend != nullptr ? float_at(*o.addend, i) + scaled : scaled;
}

// ---- half -----------------------------------------------------------------------------------------------------------

std::uint16_t bf16_bits(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if (std::isnan(x))
        return static_cast<std::uint16_t>(bits >> 16 | 0x40);
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float from_bf16(std::uint16_t bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

// Exponents from -14 to 15, 11 bits of significand; below, multiples of 2^-24.
std::uint16_t f16_bits(float x) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000 : 0);
    if (std::isnan(x))
        return sign | 0x7e00;
    const double size = std::abs(double{x});
    if (size >= 65520)
        return sign | 0x7c00;
    const int exponent = size < 0x1p-14 ? -14 : std::ilogb(size);
    // nearbyint: to the nearest, of two as near the even one.
    const auto steps = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));
    return static_cast<std::uint16_t>(sign + (exponent + 14) * 1024 + steps);
}

float from_f16(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31, steps = bits & 1023;
    const double size = exponent == 31  ? (steps == 0 ? INFINITY : NAN)
                        : exponent == 0 ? std::ldexp(steps, -24)
                                        : std::ldexp(1024 + steps, exponent - 25);
    return static_cast<float>((bits & 0x8000) != 0 ? -size : size);
}

// ---- quantized ------------------------------------------------------------------------------------------------------

// Where a bucket's elements and codes are.
struct bucket_place {
    std::size_t number, first, count, byte;
};

template <class Function>
void for_each_bucket(const quantizer& q, std::size_t elements, Function f) {
    const std::size_t size = q.bucket_size(elements);
    std::size_t byte = q.buckets(elements) * sizeof(float);
    for (std::size_t b = 0; b < q.buckets(elements); ++b) {
        const std::size_t count = std::min(size, elements - b * size);
        f(bucket_place{b, b * size, count, byte});
        byte += (count * q.bits() + 7) / 8;
    }
}

// The magnitude that elements are cut at.
float largest_allowed(const quantizer& q, const tensor& input) {
    if (q.clip == 0)
        return std::numeric_limits<float>::infinity();
    double sum = 0, squares = 0;
    for (const float x : input.values<float>()) {
        sum += double{x};
        squares += double{x} * double{x};
    }
    const auto n = static_cast<double>(input.elements());
    const double variance = std::max(0.0, squares / n - sum / n * (sum / n));
    return static_cast<float>(double{q.clip} * std::sqrt(variance));
}

float cut(float x, float limit) {
    return std::isnan(x) ? x : std::clamp(x, -limit, limit);
}

float norm_of(const quantizer& q, const tensor& input, const bucket_place& b, float limit) {
    double squares = 0;
    float largest = 0;
    for (std::size_t i = b.first; i < b.first + b.count; ++i) {
        const float x = cut(float_at(input, i), limit);
        squares += double{x} * double{x};
        largest =
            std::isnan(x) || std::isnan(largest) ? not_a_number : std::max(largest, std::abs(x));
    }
    float norm = q.norm == bucket_norm::largest ? largest : static_cast<float>(std::sqrt(squares));
    if (q.nearest)
        norm = static_cast<float>(q.levels) * (norm / static_cast<float>(q.levels));
    if (!(norm <= 0x1p100f))
        return not_a_number;
    return norm < 0x1p-100f ? 0 : norm;
}

float random_share(const quantize_key& key, std::size_t bucket, std::size_t e) {
    const auto word = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const philox_words words =
        philox({{word(e / 4), word(bucket), word(key.step), word(key.step >> 32)}},
               {{word(key.stream), word(key.stream >> 32)}});
    return static_cast<float>(words.word[e % 4] >> 8) * 0x1p-24f;
}

void add_bits(tensor& payload, std::size_t byte, std::size_t first_bit, std::size_t bits,
              unsigned code) {
    for (std::size_t b = 0; b < bits; ++b) {
        const std::size_t at = first_bit + b;
        const auto set = static_cast<std::uint8_t>((code >> b & 1) << at % 8);
        payload.mutable_data()[byte + at / 8] |= std::byte{set};
    }
}

unsigned read_bits(const tensor& payload, std::size_t byte, std::size_t first_bit,
                   std::size_t bits) {
    unsigned code = 0;
    for (std::size_t b = 0; b < bits; ++b) {
        const std::size_t at = first_bit + b;
        const auto value = std::to_integer<unsigned>(payload.data()[byte + at / 8]);
        code |= (value >> at % 8 & 1) << b;
    }
    return code;
}

} // namespace

result<void> reference_operations::compute(const encode_half& op) {
    for (std::size_t i = 0; i < op.input.elements(); ++i)
        write_at(op.payload, 2 * i,
                 op.format == half_format::bf16 ? bf16_bits(float_at(op.input, i))
                                                : f16_bits(float_at(op.input, i)));
    return {};
}

result<void> reference_operations::compute(const decode_half& op) {
    for (std::size_t i = 0; i < op.operands.output.elements(); ++i) {
        const auto bits = read_at<std::uint16_t>(op.operands.payload, 2 * i);
        put(op.operands, i, op.format == half_format::bf16 ? from_bf16(bits) : from_f16(bits));
    }
    return {};
}

result<void> reference_operations::compute(const quantize& op) {
    const quantizer& q = op.settings;
    const auto levels = static_cast<float>(q.levels);
    const float limit = largest_allowed(q, op.input);
    std::fill_n(op.payload.mutable_data(), op.payload.bytes(), std::byte{0});
    for_each_bucket(q, op.input.elements(), [&](const bucket_place& b) {
        const float norm = norm_of(q, op.input, b, limit);
        write_at(op.payload, b.number * sizeof norm, norm);
        for (std::size_t e = 0; e < b.count; ++e) {
            const float x = cut(float_at(op.input, b.first + e), limit);
            int level = 0;
            if (norm > 0) {
                const float y = std::abs(x) * (levels / norm);
                const float u = q.nearest ? 0.5f : random_share(op.key, b.number, e);
                level = std::min(static_cast<int>(q.levels), static_cast<int>(y + u));
            }
            const int code = static_cast<int>(q.levels) + (x < 0 ? -level : level);
            add_bits(op.payload, b.byte, e * q.bits(), q.bits(), static_cast<unsigned>(code));
        }
    });
    return {};
}

result<void> reference_operations::compute(const dequantize& op) {
    const quantizer& q = op.settings;
    const tensor& payload = op.operands.payload;
    bool valid = true;
    for_each_bucket(q, op.operands.output.elements(), [&](const bucket_place& b) {
        const float step =
            read_at<float>(payload, b.number * sizeof(float)) / static_cast<float>(q.levels);
        for (std::size_t e = 0; e < b.count; ++e) {
            const unsigned code = read_bits(payload, b.byte, e * q.bits(), q.bits());
            valid = valid && code <= 2 * q.levels;
            const int level = static_cast<int>(code) - static_cast<int>(q.levels);
            put(op.operands, b.first + e, static_cast<float>(level) * step);
        }
    });
    return valid ? result<void>{} : wrong_level();
}

// ---- signs ----------------------------------------------------------------------------------------------------------

result<void> reference_operations::compute(const encode_signs& op) {
    const std::size_t rows = sign_rows(op.input.shape());
    const std::size_t width = rows == 0 ? 0 : op.input.elements() / rows;
    std::fill_n(op.payload.mutable_data(), op.payload.bytes(), std::byte{0});
    for (std::size_t r = 0, byte = 0; r < rows; ++r, byte += 8 + (width + 7) / 8) {
        double sums[2] = {};
        std::size_t counts[2] = {};
        for (std::size_t c = 0; c < width; ++c) {
            const float x = float_at(op.input, r * width + c);
            const unsigned bit = x >= 0 ? 1 : 0;
            sums[bit] += double{x};
            ++counts[bit];
            add_bits(op.payload, byte + 8, c, 1, bit);
        }
        const auto mean = [&](int bit) {
            return counts[bit] == 0
                       ? 0.f
                       : static_cast<float>(sums[bit] / static_cast<double>(counts[bit]));
        };
        write_at(op.payload, byte, mean(1));
        write_at(op.payload, byte + 4, mean(0));
    }
    return {};
}

result<void> reference_operations::compute(const decode_signs& op) {
    const tensor& payload = op.operands.payload;
    const tensor_shape& shape = op.operands.output.shape();
    const std::size_t rows = sign_rows(shape);
    const std::size_t width = rows == 0 ? 0 : shape.elements() / rows;
    bool valid = true;
    for (std::size_t r = 0, byte = 0; r < rows; ++r, byte += 8 + (width + 7) / 8) {
        for (std::size_t c = 0; c < width; ++c)
            put(op.operands, r * width + c,
                read_at<float>(payload, read_bits(payload, byte + 8, c, 1) == 1 ? byte : byte + 4));
        for (std::size_t c = width; c % 8 != 0; ++c)
            valid = valid && read_bits(payload, byte + 8, c, 1) == 0;
    }
    return valid ? result<void>{} : wrong_sign_bits();
}

} // namespace troupe
