// The functions that make tables; schedules.cpp has their rows. It checks before what all of them can take for granted:
// devices and microbatches within their limits, no setting that the row does not take.
#pragma once

#include "actors/pipeline/shape/schedules.hpp"

namespace troupe {

result<schedule_table> make_gpipe(const table_request& request);
result<schedule_table> make_one_f_one_b(const table_request& request);
result<schedule_table> make_zero_bubble(const table_request& request);
result<schedule_table> make_repeated_v(const table_request& request); // activations 2 or 3
result<schedule_table> make_zero_bubble_v(const table_request& request);
result<schedule_table> make_pipedream(const table_request& request);
result<schedule_table> make_two_versions(const table_request& request);
result<schedule_table> make_local_accumulation(const table_request& request);

result<schedule_table> make_chimera(const table_request& request);
result<schedule_table> make_gems(const table_request& request);
result<schedule_table> make_dual_pipe(const table_request& request);

} // namespace troupe
