#include "actors/data/npy_header.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

namespace {

constexpr std::size_t text_bytes_max = 1u << 16; // NumPy writes less than 1 KiB
constexpr std::size_t shown_bytes_max = 40;

// The text of a header; it starts `first` bytes into its file.
class header_text {
  public:
    header_text(const input_file& in, std::string text, std::uint64_t first)
        : in_{in}, text_{std::move(text)}, first_{first} {}

    error fail(std::string_view sentence) const { return in_.fail(first_ + at_, sentence); }

    void skip_spaces() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n'))
            ++at_;
    }
    bool take(std::string_view word) {
        if (!is_next(word))
            return false;
        at_ += word.size();
        return true;
    }
    bool is_next(std::string_view word) {
        skip_spaces();
        return std::string_view{text_}.substr(at_).starts_with(word);
    }
    // 'text' or "text"
    std::optional<std::string> take_quoted() {
        skip_spaces();
        const char quote = at_ < text_.size() ? text_[at_] : '\0';
        if (quote != '\'' && quote != '"')
            return std::nullopt;
        const std::size_t end = text_.find(quote, at_ + 1);
        if (end == std::string::npos)
            return std::nullopt;
        std::string inside = text_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        return inside;
    }
    std::optional<std::uint64_t> take_number() {
        skip_spaces();
        std::uint64_t number = 0;
        const char* begin = text_.data() + at_;
        const auto [end, failed] = std::from_chars(begin, text_.data() + text_.size(), number);
        if (failed != std::errc{})
            return std::nullopt;
        at_ += static_cast<std::size_t>(end - begin);
        take("L"); // suffix of Python 2
        return number;
    }
    bool at_end() {
        skip_spaces();
        return at_ == text_.size();
    }

  private:
    const input_file& in_;
    std::string text_;
    std::uint64_t first_;
    std::size_t at_ = 0;
};

result<npy_type> parse_type(header_text& text) {
    text.skip_spaces();
    header_text ahead = text;
    const auto written = ahead.take_quoted();
    if (!written)
        return text.fail("an array of structures; save each field as an array of its own");
    constexpr std::array<std::pair<std::string_view, npy_type>, 5> known{{{"|u1", npy_type::u1},
                                                                          {"<i4", npy_type::i4},
                                                                          {"<i8", npy_type::i8},
                                                                          {"<f4", npy_type::f4},
                                                                          {"<f8", npy_type::f8}}};
    for (const auto& [name, type] : known)
        if (*written == name) {
            text.take_quoted();
            return type;
        }
    return text.fail("elements of type '" + printable(*written, shown_bytes_max) +
                     "'; save them as one of |u1, <i4, <i8, <f4 and <f8, as by astype('<f4')");
}

result<std::vector<std::size_t>> parse_shape(header_text& text) {
    std::vector<std::size_t> shape;
    if (!text.take("("))
        return text.fail("damaged header: a shape is a tuple; save the array again");
    while (!text.take(")")) {
        const auto size = text.take_number();
        const bool more = text.take(",");
        if (!size || (!more && !text.is_next(")")))
            return text.fail("damaged header: a shape is a tuple of sizes; save the array again");
        shape.push_back(*size);
        if (shape.size() > limits::tensor_rank_max)
            return text.fail("more than " + std::to_string(limits::tensor_rank_max) +
                             " dimensions; reshape the array");
    }
    return shape;
}

// Parses the dictionary: descr, fortran_order and shape, in any order.
result<npy_header> parse(header_text& text) {
    const auto damaged = [&] {
        return text.fail("damaged header: not a dictionary of descr, fortran_order and shape; save "
                         "the array again");
    };
    npy_header header;
    unsigned seen = 0;
    if (!text.take("{"))
        return damaged();
    while (!text.take("}")) {
        const auto key = text.take_quoted();
        if (!key || !text.take(":"))
            return damaged();
        if (*key == "descr") {
            auto type = parse_type(text);
            if (!type)
                return type.failure();
            header.type = *type;
            seen |= 1;
        } else if (*key == "fortran_order") {
            if (text.take("True"))
                return text.fail(
                    "an array in Fortran order; save it as numpy.ascontiguousarray(array)");
            if (!text.take("False"))
                return damaged();
            seen |= 2;
        } else if (*key == "shape") {
            auto shape = parse_shape(text);
            if (!shape)
                return shape.failure();
            header.shape = std::move(*shape);
            seen |= 4;
        } else {
            return damaged();
        }
        text.take(",");
    }
    if (seen != 7 || !text.at_end())
        return damaged();
    return header;
}

result<header_text> read_text(input_file& in) {
    std::array<std::uint8_t, 8> start{};
    if (auto got = in.read(start, "the header"); !got)
        return got.failure();
    constexpr std::array<std::uint8_t, 6> magic{0x93, 'N', 'U', 'M', 'P', 'Y'};
    if (!std::equal(magic.begin(), magic.end(), start.begin()))
        return in.fail(0, "not a .npy file: it does not begin with \\x93NUMPY");
    if (start[6] < 1 || start[6] > 3)
        return in.fail(6, ".npy version " + std::to_string(start[6]) +
                              ", this build reads 1 to 3; save the array with numpy.save");
    std::array<std::uint8_t, 4> length{};
    if (auto got = in.read(std::span{length}.first(start[6] == 1 ? 2 : 4), "the header"); !got)
        return got.failure();
    std::size_t bytes = 0;
    for (std::size_t i = length.size(); i-- > 0;)
        bytes = bytes << 8 | length[i];
    if (bytes > text_bytes_max)
        return in.fail(8, "a header of " + std::to_string(bytes) + " bytes; at most " +
                              std::to_string(text_bytes_max) + " are read");
    const std::uint64_t first = in.offset();
    std::string text(bytes, '\0');
    if (auto got =
            in.read({reinterpret_cast<std::uint8_t*>(text.data()), text.size()}, "the header");
        !got)
        return got.failure();
    return header_text{in, std::move(text), first};
}

} // namespace

std::size_t size_of(npy_type type) noexcept {
    switch (type) {
    case npy_type::u1:
        return 1;
    case npy_type::i4:
    case npy_type::f4:
        return 4;
    default:
        return 8;
    }
}

result<npy_header> read_npy_header(input_file& in) {
    auto text = read_text(in);
    if (!text)
        return text.failure();
    auto header = parse(*text);
    if (!header)
        return header;
    if (header->shape.empty())
        return text->fail("a single number; samples need a first dimension");
    std::uint64_t bytes = size_of(header->type);
    for (const std::size_t size : header->shape) {
        if (size == 0)
            return text->fail("a dimension of 0: the array is empty");
        if (bytes > limits::dataset_bytes_max / size)
            return text->fail("the header claims more than " +
                              std::to_string(limits::dataset_bytes_max) + " bytes");
        bytes *= size;
        header->elements *= size;
    }
    if (auto fits = in.check_claim(bytes, "elements"); !fits)
        return fits.failure();
    return header;
}

} // namespace troupe
