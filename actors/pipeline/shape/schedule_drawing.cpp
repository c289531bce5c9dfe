#include "actors/pipeline/shape/schedule_drawing.hpp"

#include <algorithm>
#include <cmath>

#include "schemas/base/check.hpp"
#include "schemas/base/json.hpp"

namespace troupe {

namespace {

// A step as it is drawn.
struct drawn_step {
    std::string label;
    step_kind kind = step_kind::forward;
    std::uint32_t minibatch = 0;
    double start = 0; // in units of time
    double end = 0;
};

using drawn_device = std::vector<drawn_step>;

std::string label_of(const schedule_table& table, const epoch_step& e) {
    const std::uint64_t number = e.minibatch * table.microbatches + e.what.microbatch;
    const bool has_one_stage = table.chain_stages() <= table.devices.size();
    return (has_one_stage ? "" : std::to_string(e.what.stage)) + letter_of(e.what.kind) +
           std::to_string(number);
}

// Steps that take time, by device.
std::vector<drawn_device> steps_to_draw(const schedule_table& table,
                                        const drawing_options& options) {
    const tick_times ticks = ticks_of(table, options.times);
    const std::vector<std::uint32_t> epoch(options.minibatches, table.microbatches);
    schedule_course course{table, epoch, ticks.times};
    TROUPE_CHECK(course.run(), "a table is checked before it is drawn");
    const auto unit = static_cast<double>(ticks.per_unit);
    std::vector<drawn_device> devices(table.devices.size());
    for (std::uint32_t d = 0; d < devices.size(); ++d)
        for (std::size_t i = 0; i < course.steps(d).size(); ++i) {
            const epoch_step& e = course.steps(d)[i];
            const step_span& span = course.spans(d)[i];
            if (span.end > span.start)
                devices[d].push_back(
                    {label_of(table, e), e.what.kind, static_cast<std::uint32_t>(e.minibatch),
                     static_cast<double>(span.start) / unit, static_cast<double>(span.end) / unit});
        }
    return devices;
}

// Columns of text for a unit of time, so that a label of the usual length and a blank fit the shortest step.
double scale_of(const std::vector<drawn_device>& devices) {
    double shortest = 1e9;
    std::size_t longest_label = 1;
    for (const drawn_device& d : devices)
        for (const drawn_step& s : d) {
            shortest = std::min(shortest, s.end - s.start);
            longest_label = std::max(longest_label, s.label.size());
        }
    return static_cast<double>(longest_label + 1) / shortest;
}

std::string line_of(const drawn_device& device, double scale, std::size_t columns) {
    std::string line(columns, '.');
    for (const drawn_step& s : device) {
        const auto first = static_cast<std::size_t>(std::lround(s.start * scale));
        const auto last = static_cast<std::size_t>(std::lround(s.end * scale));
        for (std::size_t c = first; c < last; ++c)
            line[c] = c - first < s.label.size() ? s.label[c - first] : ' ';
    }
    return line;
}

// The column behind a block that begins with `from`: no label is cut in two.
std::size_t end_of_block(const std::vector<std::string>& lines, std::size_t from,
                         std::size_t columns) {
    const std::size_t all = lines.front().size();
    if (from + columns >= all)
        return all;
    const auto is_label = [](char c) { return c != ' ' && c != '.'; };
    for (std::size_t to = from + columns; to > from + columns / 2; --to)
        if (std::ranges::none_of(lines, [&](const std::string& line) {
                return is_label(line[to - 1]) && is_label(line[to]);
            }))
            return to;
    return from + columns;
}

double end_of(const std::vector<drawn_device>& devices) {
    double end = 0;
    for (const drawn_device& d : devices)
        for (const drawn_step& s : d)
            end = std::max(end, s.end);
    return end;
}

std::string_view color_of(step_kind kind) {
    switch (kind) {
    case step_kind::forward:
        return "#9ecae1";
    case step_kind::backward:
        return "#fdae6b";
    case step_kind::backward_input:
        return "#fdd0a2";
    default:
        return "#a1d99b";
    }
}

std::string number_of(double value) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.2f", value);
    return buffer;
}

} // namespace

std::uint32_t minibatches_to_draw(const schedule_table& table) {
    const std::uint32_t ahead = ahead_max(table);
    return ahead == 0 ? 1 : ahead + 3;
}

std::string draw_text(const schedule_table& table, const drawing_options& options) {
    const auto devices = steps_to_draw(table, options);
    const double scale = scale_of(devices);
    const auto all = static_cast<std::size_t>(std::lround(end_of(devices) * scale));
    const std::size_t label = std::to_string(devices.size() - 1).size() + 8; // "device 0 "
    const std::size_t block = options.columns - label;
    std::vector<std::string> lines;
    for (const drawn_device& d : devices)
        lines.push_back(line_of(d, scale, all));
    std::string text;
    for (std::size_t from = 0, to = 0; from < all; from = to) {
        to = end_of_block(lines, from, block);
        text += from > 0 ? "\n" : "";
        for (std::size_t d = 0; d < lines.size(); ++d) {
            std::string name = "device " + std::to_string(d);
            name.resize(label, ' ');
            std::string line = name + lines[d].substr(from, to - from);
            line.erase(line.find_last_not_of(' ') + 1);
            text += line + "\n";
        }
    }
    return text;
}

std::string draw_svg(const schedule_table& table, const drawing_options& options) {
    constexpr double row = 28;
    constexpr double left = 70;
    constexpr double top = 10;
    const auto devices = steps_to_draw(table, options);
    const double unit = 9 * scale_of(devices);
    const double width = left + end_of(devices) * unit + 10;
    const double height = 2 * top + row * static_cast<double>(devices.size());
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number_of(width) +
                      "\" height=\"" + number_of(height) +
                      "\" font-family=\"monospace\" font-size=\"12\">\n";
    for (std::size_t d = 0; d < devices.size(); ++d) {
        const double y = top + row * static_cast<double>(d);
        svg += "<text x=\"4\" y=\"" + number_of(y + 16) + "\">device " + std::to_string(d) +
               "</text>\n";
        for (const drawn_step& s : devices[d]) {
            const double x = left + s.start * unit;
            svg += "<rect x=\"" + number_of(x) + "\" y=\"" + number_of(y) + "\" width=\"" +
                   number_of((s.end - s.start) * unit) +
                   "\" height=\"24\" stroke=\"#444\" fill=\"" + std::string{color_of(s.kind)} +
                   "\"" + (s.minibatch % 2 == 1 ? " fill-opacity=\"0.6\"" : "") + "/><text x=\"" +
                   number_of(x + 4) + "\" y=\"" + number_of(y + 16) + "\">" + s.label + "</text>\n";
        }
    }
    return svg + "</svg>\n";
}

std::string draw_trace(const schedule_table& table, const drawing_options& options) {
    constexpr double microseconds = 1000; // of a unit
    const auto devices = steps_to_draw(table, options);
    constexpr std::string_view names[] = {"forward", "backward", "backward_input",
                                          "backward_weight"};
    json events = json::array();
    for (std::size_t d = 0; d < devices.size(); ++d) {
        events.push_back({{"name", "thread_name"},
                          {"ph", "M"},
                          {"pid", 1},
                          {"tid", d},
                          {"args", {{"name", "device " + std::to_string(d)}}}});
        for (const drawn_step& s : devices[d])
            events.push_back({{"name", s.label},
                              {"cat", names[static_cast<std::size_t>(s.kind)]},
                              {"ph", "X"},
                              {"pid", 1},
                              {"tid", d},
                              {"ts", s.start * microseconds},
                              {"dur", (s.end - s.start) * microseconds},
                              {"args", {{"minibatch", s.minibatch}}}});
    }
    return json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump() + "\n";
}

} // namespace troupe
