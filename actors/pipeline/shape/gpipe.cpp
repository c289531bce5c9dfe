// gpipe: all forwards of a minibatch, then all its backward passes from the last microbatch to the first, then the update.
// Source: Huang et al., GPipe, arXiv 1811.06965.
#include "actors/pipeline/shape/schedule_makers.hpp"

namespace troupe {

result<schedule_table> make_gpipe(const table_request& request) {
    schedule_table table = synchronous_table(looped_places(request.devices, 1), request.devices, 1,
                                             request.microbatches);
    for (std::uint32_t r = 0; r < request.devices; ++r) {
        for (std::uint32_t m = 0; m < request.microbatches; ++m)
            table.devices[r].body.push_back({step_kind::forward, r, m});
        for (std::uint32_t m = request.microbatches; m-- > 0;)
            table.devices[r].body.push_back({step_kind::backward, r, m});
    }
    append_updates(table);
    return table;
}

} // namespace troupe
