// Pictures of a table over time: as text, as SVG and as a trace for Chrome's and Perfetto's viewers. Pure.
//
// A picture shows the first minibatches of an epoch that ends with them. A step is named by its kind and its microbatch,
// counted through all minibatches, and before these by its stage where a device has several: F3, 2F3.
#pragma once

#include "actors/pipeline/shape/schedule_timeline.hpp"

namespace troupe {

struct drawing_options {
    timeline_options times;
    std::uint32_t minibatches = 1;
    std::size_t columns = 80; // of text, at least 40
};

// The table is sound. As many minibatches as show what it does: one, or enough for a warm-up and a steady state.
std::uint32_t minibatches_to_draw(const schedule_table& table);

// A line per device, in blocks one below the other where the time does not fit the columns. Dots are idle time, and a step
// goes on until the next one or a dot.
std::string draw_text(const schedule_table& table, const drawing_options& options);

std::string draw_svg(const schedule_table& table, const drawing_options& options);

// One unit of time is a millisecond. A device is a thread of the viewer.
std::string draw_trace(const schedule_table& table, const drawing_options& options);

} // namespace troupe
