// Compiled several times, with TROUPE_CODEC_LOOPS naming the table; see loops.cpp for what it must not use.
#include "kernels/cpu/codec_loops.hpp"

#include "kernels/cpu/lane_masks.hpp"
#include "kernels/cpu/loop_marks.hpp"
#include "kernels/cpu/random_words.hpp"
#include "kernels/cpu/reductions.hpp"

namespace troupe::cpu {

namespace {

// Decoded numbers of a block stay in the first-level cache until they are added.
constexpr std::size_t block = 256;

inline std::size_t least(std::size_t a, std::size_t b) {
    return a < b ? a : b;
}

inline std::uint32_t bits_of(float x) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline float float_of(std::uint32_t bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

void put(const float* decoded, const decode_task& t, std::size_t first, std::size_t count) {
    const float factor = t.factor;
    float* out = t.output + first;
    if (t.addend == nullptr) {
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < count; ++i)
            out[i] = factor * decoded[i];
        return;
    }
    const float* addend = t.addend + first;
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        out[i] = addend[i] + factor * decoded[i];
}

// ---- half -----------------------------------------------------------------------------------------------------------

inline std::uint16_t bf16_of(float x) {
    const std::uint32_t bits = bits_of(x);
    const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40
                                                                       : rounded);
}

inline std::uint16_t f16_of(float x) {
    constexpr std::uint32_t infinity = 0x7f800000, too_large = 143u << 23, smallest = 113u << 23;
    // 2^-1 has in its last bit what f16's smallest step is worth: adding it rounds to that step.
    constexpr std::uint32_t half = 126u << 23;
    const std::uint32_t bits = bits_of(x);
    const std::uint32_t size = bits & 0x7fffffff;
    const std::uint32_t small = bits_of(float_of(size) + float_of(half)) - half;
    const std::uint32_t normal = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;
    const std::uint32_t large = size > infinity ? 0x7e00 : 0x7c00;
    const std::uint32_t rounded = size >= too_large ? large : size < smallest ? small : normal;
    return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | rounded);
}

inline float from_bf16_bits(std::uint16_t bits) {
    return float_of(static_cast<std::uint32_t>(bits) << 16);
}

inline float from_f16_bits(std::uint16_t bits) {
    const std::uint32_t size = (bits & 0x7fffu) << 13;
    const std::uint32_t exponent = size & (31u << 23);
    const std::uint32_t normal = size + (112u << 23);
    const std::uint32_t small = bits_of(float_of(size + (113u << 23)) - float_of(113u << 23));
    const std::uint32_t value = exponent == 31u << 23 ? normal + (112u << 23)
                                : exponent == 0       ? small
                                                      : normal;
    return float_of(value | (bits & 0x8000u) << 16);
}

template <std::uint16_t (*Of)(float)>
void to_half(const float* x, void* to, std::size_t count) {
    std::uint16_t halves[block];
    for (std::size_t first = 0; first < count; first += block) {
        const std::size_t n = least(block, count - first);
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < n; ++i)
            halves[i] = Of(x[first + i]);
        __builtin_memcpy(static_cast<char*>(to) + 2 * first, halves, 2 * n);
    }
}

template <float (*From)(std::uint16_t)>
void from_half(const void* from, decode_task t) {
    std::uint16_t halves[block];
    float decoded[block];
    for (std::size_t first = 0; first < t.count; first += block) {
        const std::size_t n = least(block, t.count - first);
        __builtin_memcpy(halves, static_cast<const char*>(from) + 2 * first, 2 * n);
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < n; ++i)
            decoded[i] = From(halves[i]);
        put(decoded, t, first, n);
    }
}

// ---- quantized ------------------------------------------------------------------------------------------------------

float largest(const float* x, std::size_t count) {
    std::int32_t most = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto bits = static_cast<std::int32_t>(bits_of(x[i]) & 0x7fffffff);
        most = bits > most ? bits : most;
    }
    return float_of(static_cast<std::uint32_t>(most));
}

moments sums(const float* x, std::size_t count) {
    double sum[lanes] = {}, squares[lanes] = {};
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes)
        for (std::size_t l = 0; l < lanes; ++l) {
            const double value{x[i + l]};
            sum[l] += value;
            squares[l] += value * value;
        }
    for (std::size_t l = 0; i < count; ++i, ++l) {
        const double value{x[i]};
        sum[l] += value;
        squares[l] += value * value;
    }
    moments all{};
    for (std::size_t l = 0; l < lanes; ++l) {
        all.sum += sum[l];
        all.squares += squares[l];
    }
    return all;
}

// Codes of 8 bits, 8 in a word, to so many bits each, and back: neighbours, pairs of them, pairs of those.
inline std::uint64_t narrowed(std::uint64_t codes, std::size_t bits) {
    codes = (codes & 0x00ff00ff00ff00ff) | (codes & 0xff00ff00ff00ff00) >> (8 - bits);
    codes = (codes & 0x0000ffff0000ffff) | (codes & 0xffff0000ffff0000) >> (16 - 2 * bits);
    return (codes & 0xffffffff) | codes >> 32 << 4 * bits;
}

inline std::uint64_t widened(std::uint64_t codes, std::size_t bits) {
    const std::uint64_t four = (std::uint64_t{1} << 4 * bits) - 1;
    codes = (codes & four) | (codes >> 4 * bits & four) << 32;
    const std::uint64_t two = ((1u << 2 * bits) - 1) * 0x0000000100000001ull;
    codes = (codes & two) | (codes >> 2 * bits & two) << 16;
    const std::uint64_t one = ((1u << bits) - 1) * 0x0001000100010001ull;
    return (codes & one) | (codes >> bits & one) << 8;
}

void quantize(quantize_task t, const float* x, void* to, std::size_t count) {
    constexpr std::size_t groups = random_block / 8;
    std::uint32_t words[random_block];
    std::uint64_t codes[groups];
    unsigned char packed[random_block + 8];
    if (t.nearest)
        for (std::uint32_t& word : words)
            word = 1u << 31; // half of all
    auto* bytes = static_cast<unsigned char*>(to);
    const auto levels = static_cast<std::int32_t>(t.levels);
    const float factor = t.factor, limit = t.limit;
    const philox_key key{{t.stream[0], t.stream[1]}};
    const std::uint64_t first_counter = static_cast<std::uint64_t>(t.number) << 32;
    for (std::size_t first = 0; first < count; first += random_block) {
        const std::size_t n = least(random_block, count - first);
        if (!t.nearest)
            random_words(first_counter + first / 4, t.step, key, words);
        std::uint8_t each[random_block] = {};
        const float* from = x + first;
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < n; ++i) {
            const float size = __builtin_fabsf(from[i]);
            const float y = (size < limit ? size : limit) * factor;
            const float u = static_cast<float>(static_cast<std::int32_t>(words[i] >> 8)) * 0x1p-24f;
            const auto some = static_cast<std::int32_t>(y + u);
            const std::int32_t level = some < levels ? some : levels;
            each[i] = static_cast<std::uint8_t>(from[i] < 0 ? levels - level : levels + level);
        }
        const std::size_t size = (n * t.bits + 7) / 8;
        __builtin_memcpy(codes, each, sizeof codes);
        for (std::size_t g = 0; g < groups; ++g)
            codes[g] = narrowed(codes[g], t.bits);
        for (std::size_t g = 0; g < groups; ++g) // each writes over what the last has too much
            __builtin_memcpy(packed + g * t.bits, &codes[g], 8);
        __builtin_memcpy(bytes, packed, size);
        bytes += size;
    }
}

bool dequantize(std::uint32_t levels, std::size_t bits, float step, const void* from,
                decode_task t) {
    constexpr std::size_t groups = block / 8;
    unsigned char packed[block + 8] = {};
    std::uint64_t codes[groups];
    float decoded[block];
    std::int32_t largest_code = 0;
    const auto zero = static_cast<std::int32_t>(levels);
    const auto* bytes = static_cast<const unsigned char*>(from);
    for (std::size_t first = 0; first < t.count; first += block) {
        const std::size_t n = least(block, t.count - first);
        const std::size_t size = (n * bits + 7) / 8;
        __builtin_memcpy(packed, bytes, size);
        bytes += size;
        for (std::size_t g = 0; g < groups; ++g)
            __builtin_memcpy(&codes[g], packed + g * bits, 8);
        for (std::size_t g = 0; g < groups; ++g)
            codes[g] = widened(codes[g], bits);
        std::uint8_t each[block];
        __builtin_memcpy(each, codes, sizeof each);
        for (std::size_t i = 0; i < n; ++i) {
            const std::int32_t code = each[i];
            largest_code = code > largest_code ? code : largest_code;
            decoded[i] = static_cast<float>(code - zero) * step;
        }
        put(decoded, t, first, n);
    }
    return largest_code <= 2 * zero;
}

// ---- signs ----------------------------------------------------------------------------------------------------------

// GCC chooses between vectors that are wider than a register number by number.
using one_register = vectors<register_lanes>;

template <class Register>
inline Register without_negative(Register x) {
    return x >= 0 ? x : Register{};
}
template <class Half>
inline halves<Half> without_negative(const halves<Half>& x) {
    return {without_negative(x.low), without_negative(x.high)};
}
template <class Register>
inline Register without_nonnegative(Register x) {
    return x >= 0 ? Register{} : x;
}
template <class Half>
inline halves<Half> without_nonnegative(const halves<Half>& x) {
    return {without_nonnegative(x.low), without_nonnegative(x.high)};
}

sign_means encode_signs(const float* x, void* to, std::size_t count) {
    constexpr std::size_t vectors = 64; // between two times that sums go on as doubles
    auto* bytes = static_cast<unsigned char*>(to);
    double sums[2] = {};
    std::size_t positives = 0;
    std::size_t i = 0;
    while (i + lanes <= count) {
        lane_values positive = {}, negative = {};
        for (std::size_t v = 0; v < vectors && i + lanes <= count; ++v, i += lanes, bytes += 2) {
            const lane_values at = load_lanes(x + i);
            const std::uint32_t mask = nonnegative(x + i);
            positive += without_negative(at);
            negative += without_nonnegative(at);
            positives += static_cast<std::size_t>(__builtin_popcount(mask));
            bytes[0] = static_cast<unsigned char>(mask);
            bytes[1] = static_cast<unsigned char>(mask >> 8);
        }
        sums[1] += sum_of_lanes(positive);
        sums[0] += sum_of_lanes(negative);
    }
    for (; i < count; i += 8, ++bytes) {
        unsigned mask = 0;
        for (std::size_t b = 0; b < 8 && i + b < count; ++b) {
            const unsigned bit = x[i + b] >= 0 ? 1 : 0;
            sums[bit] += static_cast<double>(x[i + b]);
            positives += bit;
            mask |= bit << b;
        }
        *bytes = static_cast<unsigned char>(mask);
    }
    const auto mean = [](double sum, std::size_t n) {
        return n == 0 ? 0.f : static_cast<float>(sum / static_cast<double>(n));
    };
    return {mean(sums[1], positives), mean(sums[0], count - positives)};
}

void decode_signs(sign_means means, const void* from, decode_task t) {
    float decoded[block];
    const auto* bytes = static_cast<const unsigned char*>(from);
    one_register::integers bit;
    for (int l = 0; l < register_lanes; ++l)
        bit[l] = 1 << l;
    const one_register::registers positive = means.positive + one_register::registers{},
                                  negative = means.negative + one_register::registers{};
    for (std::size_t first = 0; first < t.count; first += block) {
        const std::size_t n = least(block, t.count - first);
        for (std::size_t i = 0; i < n; i += lanes) {
            const std::size_t byte = (first + i) / 8;
            const std::int32_t upper = i + 8 < n ? bytes[byte + 1] : 0;
            const std::int32_t mask = bytes[byte] | upper << 8;
            for (std::size_t l = 0; l < lanes; l += register_lanes) {
                const one_register::integers some = (mask >> l) + one_register::integers{};
                registers_of<register_lanes>::put(decoded + i + l,
                                                  (some & bit) != 0 ? positive : negative);
            }
        }
        put(decoded, t, first, n);
    }
}

// ---- sums -----------------------------------------------------------------------------------------------------------

void momentum(float momentum, float scale, const float* g, const float* u, const float* v,
              float* new_u, float* new_v, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i) {
        const float velocity = momentum * u[i] + scale * g[i];
        new_v[i] = v[i] + velocity;
        new_u[i] = velocity;
    }
}

float dot(const float* x, const float* y, std::size_t count) {
    return dot_of(x, y, count);
}

} // namespace

extern const codec_loops TROUPE_CODEC_LOOPS;
const codec_loops TROUPE_CODEC_LOOPS{to_half<bf16_of>,
                                     to_half<f16_of>,
                                     from_half<from_bf16_bits>,
                                     from_half<from_f16_bits>,
                                     largest,
                                     sums,
                                     quantize,
                                     dequantize,
                                     encode_signs,
                                     decode_signs,
                                     momentum,
                                     dot};

} // namespace troupe::cpu
