#include "apps/lasso/few_numbers.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "actors/scheduled/filled_state.hpp"
#include "actors/scheduled/named_numbers.hpp"

namespace troupe::lasso {

namespace {

std::string places_of(const std::string& name) {
    return name + " places";
}

bool is_saved(double number) noexcept {
    return std::bit_cast<std::uint64_t>(number) != 0; // -0, too
}

} // namespace

result<void> append_few(memory_pool& memory, const std::string& name,
                        std::span<const double> numbers, scheduled::saved_part& to) {
    const auto count = static_cast<std::size_t>(std::ranges::count_if(numbers, is_saved));
    const auto places = [&](std::span<std::int32_t> all) {
        auto at = all.begin();
        for (std::size_t i = 0; i < numbers.size(); ++i)
            if (is_saved(numbers[i]))
                *at++ = static_cast<std::int32_t>(i);
    };
    const auto values = [&](std::span<double> all) {
        std::ranges::copy_if(numbers, all.begin(), is_saved);
    };
    using scheduled::append_filled;
    if (auto added = append_filled<std::int32_t>(memory, places_of(name), count, places, to);
        !added)
        return added;
    return append_filled<double>(memory, name, count, values, to);
}

result<std::vector<double>> read_few(const scheduled::saved_part& saved, const std::string& name,
                                     std::size_t count) {
    const auto values = scheduled::read_state<double>(saved, name);
    const auto places = scheduled::read_state<std::int32_t>(saved, places_of(name));
    if (const error* failure = scheduled::first_failure(values, places))
        return *failure;
    const auto is_outside = [&](std::int32_t place) {
        return place < 0 || static_cast<std::size_t>(place) >= count;
    };
    if (places->size() != values->size() || std::ranges::any_of(*places, is_outside))
        return error{errc::protocol, name + ": the saved numbers are not of these variables"};
    std::vector<double> all(count);
    for (std::size_t i = 0; i < values->size(); ++i)
        all[static_cast<std::size_t>((*places)[i])] = (*values)[i];
    return all;
}

} // namespace troupe::lasso
