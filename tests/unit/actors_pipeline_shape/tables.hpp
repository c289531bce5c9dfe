// Tables for the tests of schedules, written and read as text.
#pragma once

#include <boost/test/unit_test.hpp>

#include <sstream>

#include "actors/pipeline/shape/schedule_checker.hpp"
#include "actors/pipeline/shape/schedule_timeline.hpp"
#include "actors/pipeline/shape/schedules.hpp"

namespace troupe::test {

inline schedule_table made(std::string_view name, table_request request) {
    auto table = make_table(name, request);
    BOOST_REQUIRE_MESSAGE(table.ok(), name << ": " << (table ? "" : table.failure().message()));
    return std::move(*table);
}

inline table_numbers checked(const schedule_table& table) {
    auto numbers = check_table(table);
    BOOST_REQUIRE_MESSAGE(numbers.ok(), (numbers ? "" : numbers.failure().message()));
    return std::move(*numbers);
}

// "0F0 0B0": the steps of a device's body without updates.
inline std::string row_of(const schedule_table& table, std::uint32_t device) {
    std::string text;
    for (const schedule_step& s : table.devices[device].body)
        if (s.kind != step_kind::update)
            text += (text.empty() ? "" : " ") + to_string(s);
    return text;
}

// A step from its cell, with the minibatches ahead behind a "+" and updates behind one behind a "-": "0F1+2-3".
inline schedule_step step_from(const std::string& cell) {
    std::istringstream in{cell};
    schedule_step s;
    char letter = 0;
    in >> s.stage >> letter;
    s.kind = static_cast<step_kind>(std::string{"FBIWU"}.find(letter));
    if (s.kind != step_kind::update)
        in >> s.microbatch;
    for (char sign = 0; in >> sign;)
        in >> (sign == '+' ? s.ahead : s.behind);
    return s;
}

inline std::vector<schedule_step> steps_from(const std::string& text) {
    std::istringstream in{text};
    std::vector<schedule_step> steps;
    for (std::string cell; in >> cell;)
        steps.push_back(step_from(cell));
    return steps;
}

// A table of one replica: "WARM-UP | BODY" or "BODY" for each device, stages dealt around.
inline schedule_table table_from(std::uint32_t stages, std::uint32_t microbatches,
                                 const std::vector<std::string>& rows) {
    schedule_table table;
    table.stages = stages;
    table.microbatches = microbatches;
    for (std::uint32_t s = 0; s < stages; ++s)
        table.device_of.push_back(rows.empty() ? 0 : s % static_cast<std::uint32_t>(rows.size()));
    for (const std::string& row : rows) {
        const auto bar = row.find('|');
        device_steps steps;
        if (bar != std::string::npos)
            steps.warm_up = steps_from(row.substr(0, bar));
        steps.body = steps_from(bar == std::string::npos ? row : row.substr(bar + 1));
        table.devices.push_back(std::move(steps));
    }
    return table;
}

inline timeline_options times(fraction forward, fraction input, fraction weight, fraction hop = 0) {
    return {.stages = {{forward, input, weight}}, .hop = hop};
}

inline fraction idle_of(const schedule_table& table, const timeline_options& options) {
    const steady_pace pace = find_steady_pace(table, options);
    BOOST_TEST(pace.is_exact, "the steady state was found");
    return pace.most_idle();
}

} // namespace troupe::test

namespace troupe {
inline std::ostream& operator<<(std::ostream& out, fraction f) {
    return out << to_string(f);
}
} // namespace troupe
