#include "tools/troupe/number_words.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "schemas/base/json.hpp"

namespace troupe::cli {

namespace {

template <class... Args>
std::string text(const char* format, Args... args) {
    char buffer[256];
    std::snprintf(buffer, sizeof buffer, format, args...);
    return buffer;
}

std::string with_spaces(std::string name) {
    std::ranges::replace(name, '_', ' ');
    return name;
}

} // namespace

std::string words_of(const named_number& n, const char* share_format) {
    constexpr std::string_view a_second = "_per_second";
    switch (n.style) {
    case proto::NumberStyle::REAL:
        return with_spaces(n.name) + text(" %.4f", n.value);
    case proto::NumberStyle::SHARE:
        return with_spaces(n.name) + text(share_format, 100 * n.value);
    case proto::NumberStyle::COUNT:
        return with_spaces(n.name) + text(" %.0f", n.value);
    case proto::NumberStyle::RATE:
        return text("%.0f ", n.value) +
               with_spaces(n.name.substr(
                   0, n.name.size() - (n.name.ends_with(a_second) ? a_second.size() : 0))) +
               "/s";
    case proto::NumberStyle::SECONDS:
        return text("%.1f s", n.value);
    case proto::NumberStyle::PRECISE:
        return with_spaces(n.name) + text(" %.6g", n.value);
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
