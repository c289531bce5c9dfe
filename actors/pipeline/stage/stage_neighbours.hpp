// The neighbours of a stage in its pipeline, as its trainer names them, and the routes of tensors
// between them and the stage. A value, which does not change once the stage is connected.
//
// Errors: errc::protocol for neighbours that cannot be this stage's.
#pragma once

#include <optional>
#include <vector>

#include "actors/pipeline/stage/stage_options.hpp"
#include "actors/pipeline/stage/tensor_routes.hpp"
#include "schemas/training.capnp.h"
#include "transport/frame/frame.hpp"

namespace troupe {

struct stage_neighbours {
    // A replica of a stage of the pipeline.
    struct place {
        std::uint32_t stage = 0;
        std::uint32_t replica = 0;
    };

    std::vector<actor_address> previous; // one; where stages differ in replicas, all, by replica
    std::vector<actor_address> next;     // likewise; empty at the last stage
    actor_address source;                // the data source, which sends the last stage's labels
    stage_routes routes;

    bool has(actor_address who) const;
    // The place of a neighbour of the stage at `own`; none if it is not one, or is the data
    // source in the place of the first stage's previous one.
    std::optional<place> place_of(actor_address who, const pipeline_place& own) const;
    // The neighbour in the first replica; none before the stage is connected.
    actor_address first_previous() const {
        return previous.empty() ? actor_address{} : previous.front();
    }
};

// The neighbours that a trainer names for a stage on `node`.
result<stage_neighbours> neighbours_of(const stage_options& options,
                                       proto::ConnectStage::Reader body, node_id node);

// The sender of a message if it is one of these, else none.
actor_address sender_among(const std::vector<actor_address>& expected, const frame& f);

} // namespace troupe
