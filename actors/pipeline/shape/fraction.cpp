#include "actors/pipeline/shape/fraction.hpp"

namespace troupe {

std::string to_string(fraction f) {
    std::string text = std::to_string(f.over());
    return f.under() == 1 ? text : text + "/" + std::to_string(f.under());
}

std::optional<fraction> read_decimal(std::string_view text) {
    constexpr std::size_t digits_max = 6;
    const std::size_t point = text.find('.');
    const std::string_view whole = text.substr(0, point);
    const std::string_view rest =
        point == std::string_view::npos ? std::string_view{} : text.substr(point + 1);
    constexpr std::string_view digits = "0123456789";
    if (whole.empty() || whole.size() > digits_max + 1 || rest.size() > digits_max ||
        (point != std::string_view::npos && rest.empty()) ||
        whole.find_first_not_of(digits) != std::string_view::npos ||
        rest.find_first_not_of(digits) != std::string_view::npos)
        return std::nullopt;
    std::int64_t over = 0;
    std::int64_t under = 1;
    for (const char c : whole)
        over = over * 10 + (c - '0');
    for (const char c : rest) {
        over = over * 10 + (c - '0');
        under *= 10;
    }
    const fraction value{over, under};
    if (fraction{1'000'000} < value)
        return std::nullopt;
    return value;
}

} // namespace troupe
