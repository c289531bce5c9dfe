#include "actors/runtime/actor_names.hpp"

#include <charconv>
#include <cstdio>

namespace troupe {

namespace {

constexpr std::size_t digits_min = 8; // of the runs that `troupe run` draws
constexpr int hexadecimal = 16;

} // namespace

std::string run_text(std::uint64_t run) {
    char text[2 * sizeof run + 1];
    std::snprintf(text, sizeof text, "%08llx", static_cast<unsigned long long>(run));
    return text;
}

std::optional<std::uint64_t> read_run(std::string_view text) {
    if (text.starts_with("0x"))
        text.remove_prefix(2);
    else if (text.size() < digits_min)
        return std::nullopt; // a number of another kind
    std::uint64_t run = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, code] = std::from_chars(text.data(), end, run, hexadecimal);
    return code == std::errc{} && stopped == end && run != 0 ? std::optional{run} : std::nullopt;
}

std::string name_in_run(std::uint64_t run, std::string_view role) {
    return run_text(run).append("/").append(role);
}

std::string_view role_part(std::string_view name) {
    const std::size_t slash = name.find('/');
    return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

bool is_called(std::string_view name, std::string_view said) {
    return said == name || said == role_part(name);
}

} // namespace troupe
