#include "actors/data/files/npy_elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "actors/data/files/zip_member.hpp"
#include "schemas/base/half_number.hpp"

namespace troupe {

namespace {

static_assert(std::endian::native == std::endian::little,
              "elements that are little-endian are read as they are");

constexpr std::size_t elements_bytes = 1u << 16;
constexpr std::string_view archive = ".npz";

std::size_t colon_of(const std::string& name) noexcept {
    const std::size_t dot = name.rfind(".npz:");
    return dot == std::string::npos ? dot : dot + archive.size();
}

struct half {
    std::uint16_t bits;
    explicit operator float() const noexcept { return from_half(bits); }
    explicit operator double() const noexcept { return from_half(bits); }
    explicit operator std::int64_t() const noexcept { return 0; } // is_whole() is false of it
};

struct truth {
    std::uint8_t byte;
    template <class Value>
    explicit operator Value() const noexcept {
        return byte == 0 ? 0 : 1;
    }
};

// The bits of a number but for its sign: those of numbers that are not finite are `infinite` and above.
template <class Number>
struct magnitude {
    using bits = std::conditional_t<sizeof(Number) == sizeof(float), std::int32_t, std::int64_t>;
    static constexpr bits infinite = std::bit_cast<bits>(std::numeric_limits<Number>::infinity());

    static bits of(Number number) noexcept {
        return std::bit_cast<bits>(number) & std::numeric_limits<bits>::max();
    }
};

// Converts elements; the place of the first that cannot be taken, as it is not finite as a Range, or as many as there are.
// The largest of all magnitudes is found along the way, without a branch for each.
template <class Stored, class Range, class Value>
std::size_t convert(std::span<const std::uint8_t> bytes, std::span<Value> into) {
    constexpr bool may_be_infinite = !std::is_integral_v<Stored> && std::is_floating_point_v<Range>;
    using checked = magnitude<std::conditional_t<may_be_infinite, Range, double>>;
    typename checked::bits largest = 0;
    for (std::size_t i = 0; i < into.size(); ++i) {
        Stored element;
        std::memcpy(&element, bytes.data() + i * sizeof element, sizeof element);
        into[i] = static_cast<Value>(element);
        if constexpr (may_be_infinite)
            largest = std::max(largest, checked::of(static_cast<Range>(into[i])));
    }
    if (largest < checked::infinite)
        return into.size();
    const auto first = std::ranges::find_if_not(
        into, [](Value v) { return std::isfinite(static_cast<Range>(v)); });
    return static_cast<std::size_t>(first - into.begin());
}

template <class Range, class Value>
std::size_t convert(npy_type from, std::span<const std::uint8_t> bytes, std::span<Value> into) {
    switch (from) {
    case npy_type::b1:
        return convert<truth, Range>(bytes, into);
    case npy_type::u1:
        return convert<std::uint8_t, Range>(bytes, into);
    case npy_type::i1:
        return convert<std::int8_t, Range>(bytes, into);
    case npy_type::u2:
        return convert<std::uint16_t, Range>(bytes, into);
    case npy_type::i2:
        return convert<std::int16_t, Range>(bytes, into);
    case npy_type::u4:
        return convert<std::uint32_t, Range>(bytes, into);
    case npy_type::i4:
        return convert<std::int32_t, Range>(bytes, into);
    case npy_type::i8:
        return convert<std::int64_t, Range>(bytes, into);
    case npy_type::f2:
        return convert<half, Range>(bytes, into);
    case npy_type::f4:
        return convert<float, Range>(bytes, into);
    default:
        return convert<double, Range>(bytes, into);
    }
}

} // namespace

bool names_npz_member(const std::string& name) noexcept {
    return colon_of(name) != std::string::npos;
}

result<input_file> open_npy(const std::string& name) {
    if (const std::size_t colon = colon_of(name); colon != std::string::npos)
        return open_zip_member(name.substr(0, colon), name.substr(colon + 1), ".npy");
    if (name.ends_with(archive))
        return open_zip_member(name, "", ".npy");
    return input_file::open(name);
}

result<npy_elements> npy_elements::open(const std::string& name, npy_order allowed) {
    auto in = open_npy(name);
    return in ? open(std::move(*in), allowed) : in.failure();
}

result<npy_elements> npy_elements::open(input_file in, npy_order allowed) {
    auto header = read_npy_header(in, allowed);
    if (!header)
        return header.failure();
    return npy_elements{std::move(in), std::move(*header)};
}

std::string npy_elements::place_of(std::uint64_t element) const {
    if (header_.shape.size() != 2)
        return "element " + std::to_string(element);
    const bool is_c = header_.order == npy_order::c;
    const std::uint64_t inner = header_.shape[is_c ? 1 : 0];
    return "row " + std::to_string(is_c ? element / inner : element % inner) + ", column " +
           std::to_string(is_c ? element % inner : element / inner);
}

error npy_elements::fail(std::string_view sentence, std::uint64_t before_last) const {
    const std::uint64_t element = done_ - std::min(done_, before_last + 1);
    return in_.fail(first_ + element * size_of(header_.type),
                    place_of(element).append(" ").append(sentence));
}

result<void> npy_elements::refill() {
    const std::uint64_t left = (header_.elements - done_) * size_of(header_.type);
    piece_.resize(std::min<std::uint64_t>(elements_bytes, left));
    piece_at_ = 0;
    if (auto got = in_.read(piece_, "the elements"); !got)
        return got;
    if (header_.is_big_endian)
        for (auto at = piece_.begin(); at != piece_.end();) {
            const auto element = at;
            at += static_cast<std::ptrdiff_t>(size_of(header_.type));
            std::reverse(element, at);
        }
    return {};
}

template <class Value, class Range>
result<void> npy_elements::read_as(std::span<Value> into) {
    TROUPE_CHECK(into.size() <= header_.elements - done_, "an array's reader knows its length");
    TROUPE_CHECK(std::is_floating_point_v<Value> || is_whole(), "whole numbers are stored as such");
    const std::size_t width = size_of(header_.type);
    while (!into.empty()) {
        if (piece_at_ == piece_.size())
            if (auto filled = refill(); !filled)
                return filled;
        const auto bytes = std::span{piece_}.subspan(piece_at_);
        const auto part = into.first(std::min(bytes.size() / width, into.size()));
        const std::size_t good = convert<Range>(header_.type, bytes, part);
        piece_at_ += part.size() * width;
        done_ += std::min(good + 1, part.size());
        if (good < part.size())
            return fail(std::is_same_v<Range, float>
                            ? "is not a finite 32-bit number; clean the data"
                            : "is not a finite number; clean the data");
        into = into.subspan(part.size());
    }
    return {};
}

template result<void> npy_elements::read_as<float>(std::span<float>);
template result<void> npy_elements::read_as<double>(std::span<double>);
template result<void> npy_elements::read_as<double, float>(std::span<double>);
template result<void> npy_elements::read_as<std::int64_t>(std::span<std::int64_t>);

} // namespace troupe
