#include "tests/fuzz/mutation.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

namespace troupe::fuzz {

namespace {

constexpr std::size_t input_bytes_max = 1u << 20;

template <class List>
const auto& one_of(const List& list, random_stream& random) {
    return list[random.below(std::size(list))];
}

// A place in the text, as often near its front, where headers are.
std::size_t place(const std::string& text, random_stream& random) {
    return random.below(
        std::min<std::size_t>(text.size(), random.below(2) == 0 ? text.size() : std::size_t{64}));
}

void change_bit(std::string& text, random_stream& random) {
    text[place(text, random)] ^= static_cast<char>(1u << random.below(8));
}

void change_byte(std::string& text, random_stream& random) {
    static constexpr std::string_view common =
        " \n\t:,.-{}[]()\"'&*!|>%@`#?~0123456789eLax\xff\x80";
    text[place(text, random)] =
        random.below(2) == 0 ? one_of(common, random) : static_cast<char>(random.next());
}

// A binary number of 2, 4 or 8 bytes, in either order of bytes, near a power of two.
void write_number(std::string& text, random_stream& random) {
    const std::size_t bytes = std::size_t{2} << random.below(3);
    std::uint64_t number = (std::uint64_t{1} << random.below(64)) + random.below(3) - 1;
    if (random.below(4) == 0)
        number = ~number;
    const std::size_t at = place(text, random);
    const bool big_endian = random.below(2) == 0;
    for (std::size_t i = 0; i < bytes && at + i < text.size(); ++i)
        text[at + i] = static_cast<char>(number >> 8 * (big_endian ? bytes - 1 - i : i));
}

// A number that is written in digits.
void write_digits(std::string& text, random_stream& random) {
    static constexpr std::string_view numbers[] = {"0",
                                                   "1",
                                                   "-1",
                                                   "65536",
                                                   "2147483648",
                                                   "4294967295",
                                                   "4294967296",
                                                   "9223372036854775807",
                                                   "18446744073709551615",
                                                   "18446744073709551616",
                                                   "1e308",
                                                   "1e-320",
                                                   "nan",
                                                   "0.5",
                                                   "007"};
    constexpr const char* digits = "0123456789";
    const std::size_t at = text.find_first_of(digits, place(text, random));
    if (at != std::string::npos)
        text.replace(at, std::min(text.find_first_not_of(digits, at), text.size()) - at,
                     one_of(numbers, random));
}

void erase(std::string& text, random_stream& random) {
    text.erase(place(text, random), 1 + random.below(32));
}

void cut(std::string& text, random_stream& random) {
    text.resize(place(text, random));
}

// A piece of the text once more, somewhere else, or many times: nesting.
void repeat(std::string& text, random_stream& random) {
    const std::string piece = text.substr(place(text, random), 1 + random.below(32));
    const std::size_t times = random.below(8) == 0 ? std::size_t{1} << random.below(12) : 1;
    const std::size_t at = place(text, random);
    for (std::size_t i = 0; i < times; ++i)
        text.insert(at, piece);
}

void overwrite(std::string& text, random_stream& random) {
    const std::string piece = text.substr(place(text, random), 1 + random.below(32));
    const std::size_t at = place(text, random);
    text.replace(at, piece.size(), piece);
}

constexpr void (*edits[])(std::string&, random_stream&) = {
    change_bit,   change_byte, change_byte, write_number, write_number,
    write_digits, erase,       cut,         repeat,       overwrite};

} // namespace

std::string mutated(std::span<const std::string> sound, random_stream& random) {
    std::string text = one_of(sound, random);
    if (random.below(16) == 0) {
        const std::string& other = one_of(sound, random);
        text = text.substr(0, random.below(text.size() + 1)) +
               other.substr(random.below(other.size() + 1));
    }
    for (std::uint64_t left = random.below(9); left > 0 && !text.empty(); --left)
        one_of(edits, random)(text, random);
    text.resize(std::min(text.size(), input_bytes_max));
    return text;
}

} // namespace troupe::fuzz
