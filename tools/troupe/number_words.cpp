#include "tools/troupe/number_words.hpp"

#include <algorithm>
#include <cmath>

#include "schemas/base/json.hpp"

namespace troupe::cli {

namespace {

std::string with_spaces(std::string name) {
    std::ranges::replace(name, '_', ' ');
    return name;
}

} // namespace

std::string words_of(const named_number& n, const char* share_format) {
    constexpr std::string_view a_second = "_per_second";
    switch (n.style) {
    case proto::NumberStyle::REAL:
        return with_spaces(n.name) + formatted(" %.4f", n.value);
    case proto::NumberStyle::SHARE:
        return with_spaces(n.name) + formatted(share_format, 100 * n.value);
    case proto::NumberStyle::COUNT:
        return with_spaces(n.name) + formatted(" %.0f", n.value);
    case proto::NumberStyle::RATE:
        return formatted("%.0f ", n.value) +
               with_spaces(n.name.substr(
                   0, n.name.size() - (n.name.ends_with(a_second) ? a_second.size() : 0))) +
               "/s";
    case proto::NumberStyle::SECONDS:
        return formatted("%.1f s", n.value);
    case proto::NumberStyle::PRECISE:
        return with_spaces(n.name) + formatted(" %.6g", n.value);
    }
    return with_spaces(n.name); // of a form that a later build has
}

void add_numbers(json& to, const std::vector<named_number>& numbers) {
    for (const named_number& n : numbers) {
        std::string key = n.name;
        std::ranges::replace(key, ' ', '_');
        if (n.style == proto::NumberStyle::COUNT && std::abs(n.value) <= 1ull << 53) // not for NaN
            to[key] = static_cast<std::int64_t>(n.value);
        else
            to[key] = n.value;
    }
}

} // namespace troupe::cli
