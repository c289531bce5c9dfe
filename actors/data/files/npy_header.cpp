#include "actors/data/files/npy_header.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

namespace {

constexpr std::size_t text_bytes_max = 1u << 16; // NumPy writes less than 1 KiB
constexpr std::size_t shown_type_bytes_max = 40;
constexpr std::size_t word_characters_max = 64;

// The text of a header; it starts `first` bytes into its file.
class header_text {
  public:
    header_text(const input_file& in, std::string text, std::uint64_t first)
        : in_{in}, text_{std::move(text)}, first_{first} {}

    error fail(std::string_view sentence) const { return fail(at_, sentence); }
    error fail(std::size_t at, std::string_view sentence) const {
        return in_.fail(first_ + at, sentence);
    }
    std::size_t at() const noexcept { return at_; }

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

// The values of a header, with the places of those that may be refused.
struct dictionary {
    std::string type;
    std::size_t type_at = 0;
    bool is_fortran = false;
    std::size_t order_at = 0;
    std::vector<std::size_t> shape;
};

// How elements of a type that is not read become numbers of one that is.
std::string_view advice_on(std::string_view kind) {
    if (kind.starts_with('c'))
        return "save array.real, array.imag or abs(array)";
    if (kind.starts_with('M') || kind.starts_with('m'))
        return "save the times as numbers: array.astype('<i8')";
    if (kind == "u8")
        return "save them with a sign: array.astype('<i8')";
    if (kind.starts_with('f'))
        return "save them as array.astype('<f8')";
    return "save them as numbers, if they are: array.astype('<f4')";
}

result<npy_type> type_of(const dictionary& header, const header_text& text) {
    constexpr std::array<std::string_view, 11> known{"b1", "u1", "i1", "u2", "i2", "u4",
                                                     "i4", "i8", "f2", "f4", "f8"};
    const std::string_view type = header.type;
    const bool has_order =
        !type.empty() && std::string_view{"<>|="}.find(type[0]) != std::string_view::npos;
    const std::string_view kind = type.substr(has_order ? 1 : 0);
    const auto found = std::ranges::find(known, kind);
    if (found != known.end() && has_order)
        return static_cast<npy_type>(found - known.begin());
    return text.fail(header.type_at, "elements of type '" + printable(type, shown_type_bytes_max) +
                                         "'; " + std::string{advice_on(kind)});
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

error damaged(const header_text& text) {
    return text.fail("damaged header: not a dictionary of descr, fortran_order and shape; save the "
                     "array again");
}

result<void> parse_value(const std::string& key, header_text& text, dictionary& header) {
    text.skip_spaces();
    if (key == "descr") {
        header.type_at = text.at();
        auto type = text.take_quoted();
        if (!type)
            return text.fail("an array of structures; save each field as an array of its own");
        header.type = std::move(*type);
    } else if (key == "fortran_order") {
        header.order_at = text.at();
        header.is_fortran = text.take("True");
        if (!header.is_fortran && !text.take("False"))
            return damaged(text);
    } else if (key == "shape") {
        auto shape = parse_shape(text);
        if (!shape)
            return shape.failure();
        header.shape = std::move(*shape);
    } else {
        return damaged(text);
    }
    return {};
}

// Parses the dictionary: descr, fortran_order and shape, in any order.
result<dictionary> parse(header_text& text) {
    dictionary header;
    std::set<std::string> seen;
    if (!text.take("{"))
        return damaged(text);
    while (!text.take("}")) {
        auto key = text.take_quoted();
        if (!key || !text.take(":"))
            return damaged(text);
        if (auto parsed = parse_value(*key, text, header); !parsed)
            return parsed.failure();
        seen.insert(std::move(*key));
        text.take(",");
    }
    if (seen.size() != 3 || !text.at_end())
        return damaged(text);
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
    case npy_type::b1:
    case npy_type::u1:
    case npy_type::i1:
        return 1;
    case npy_type::u2:
    case npy_type::i2:
    case npy_type::f2:
        return 2;
    case npy_type::u4:
    case npy_type::i4:
    case npy_type::f4:
        return 4;
    default:
        return 8;
    }
}

result<npy_header> read_npy_header(input_file& in, npy_order allowed) {
    auto text = read_text(in);
    if (!text)
        return text.failure();
    auto said = parse(*text);
    if (!said)
        return said.failure();
    const auto type = type_of(*said, *text);
    if (!type)
        return type.failure();
    if (said->is_fortran && allowed == npy_order::c)
        return text->fail(said->order_at,
                          "an array in Fortran order; save it as numpy.ascontiguousarray(array)");
    npy_header header{*type, said->is_fortran ? npy_order::fortran : npy_order::c,
                      said->type.starts_with('>'), std::move(said->shape)};
    if (header.shape.empty())
        return text->fail("a single number; samples need a first dimension");
    std::uint64_t bytes = size_of(header.type);
    for (const std::size_t size : header.shape) {
        if (size == 0)
            return text->fail("a dimension of 0: the array is empty");
        if (bytes > limits::dataset_bytes_max / size)
            return text->fail("the header claims more than " +
                              std::to_string(limits::dataset_bytes_max) + " bytes");
        bytes *= size;
        header.elements *= size;
    }
    if (auto fits = in.check_claim(bytes, "elements"); !fits)
        return fits.failure();
    return header;
}

result<std::string> read_npy_word(input_file& in) {
    auto text = read_text(in);
    if (!text)
        return text.failure();
    const auto said = parse(*text);
    if (!said)
        return said.failure();
    // "|S3": three bytes; "<U3": three characters of four bytes each.
    const std::string_view type = said->type;
    const bool is_wide = type.starts_with("<U");
    std::size_t characters = 0;
    if (type.size() > 2 && (is_wide || type.starts_with("|S")))
        std::from_chars(type.data() + 2, type.data() + type.size(), characters);
    if (characters == 0 || characters > word_characters_max || !said->shape.empty())
        return text->fail(said->type_at, "not a single word; save the archive again");
    std::vector<std::uint8_t> bytes(characters * (is_wide ? 4 : 1));
    if (auto got = in.read(bytes, "the word"); !got)
        return got.failure();
    std::string word;
    for (const std::uint8_t byte : bytes)
        if (byte != 0)
            word += static_cast<char>(byte);
    return word;
}

} // namespace troupe
