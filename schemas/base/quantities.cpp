#include "schemas/base/quantities.hpp"

#include <cstdio>

namespace troupe {

std::string quantity(double value, std::string_view unit) {
    constexpr std::string_view prefixes = "-kMGTPEZY";
    std::size_t thousands = 0;
    for (; value >= 10000 && thousands + 1 < prefixes.size(); value /= 1000)
        ++thousands;
    char text[32];
    std::snprintf(text, sizeof text, thousands == 0 ? "%.0f " : "%.1f ", value);
    return text + std::string{prefixes.substr(thousands, thousands == 0 ? 0 : 1)} +
           std::string{unit};
}

std::string bytes_text(std::uint64_t bytes) {
    return quantity(static_cast<double>(bytes), "B");
}

std::string two_digits(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2g", value);
    return text;
}

std::string counted(std::uint64_t n, std::string_view one, std::string_view many) {
    const std::string noun{n == 1 || many.empty() ? one : many};
    return std::to_string(n) + " " + noun + (n == 1 || !many.empty() ? "" : "s");
}

} // namespace troupe
