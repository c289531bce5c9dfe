// The schedules that Troupe knows: for each a name, a sentence, the settings that it takes, and the function that makes its
// table. Pure. To add one: a file beside this one and a row in schedules.cpp.
#pragma once

#include <span>
#include <string_view>

#include "actors/pipeline/shape/schedule_table.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

// The settings of a table. Each schedule takes some of them; one that it does not take stays as it is here.
struct table_request {
    std::uint32_t devices = 1;
    std::uint32_t microbatches = 1;      // of a replica's minibatch
    std::uint32_t stages_per_device = 0; // 0: as many as the schedule needs
    bool doubled_warm_up = false;        // twice as many forwards before the first backward
    std::uint32_t activations = 1;       // the share of the activations that is kept: 1 of so many
    bool vertical_sync = false;          // all stages use the version that the first one used
};

// The settings beside devices and microbatches that a schedule takes.
struct settings_taken {
    bool stages_per_device = false;
    bool doubled_warm_up = false;
    bool activations = false;
    bool vertical_sync = false;
};

struct schedule_row {
    std::string_view name;  // as in app files and on the command line
    std::string_view about; // a sentence for people
    settings_taken takes;
    result<schedule_table> (*make)(const table_request&);
    std::uint32_t stages_per_device = 1; // unless the request says
};

std::span<const schedule_row> schedule_rows();

std::string schedule_names(); // "gpipe, one_f_one_b, ..."

// A sound table. Errors: errc::usage, one sentence that says which setting would do.
result<schedule_table> make_table(std::string_view name, const table_request& request);

} // namespace troupe
