#include "actors/training/training_messages.hpp"

#include "actors/collective/collective_messages.hpp"
#include "actors/params/params_messages.hpp"
#include "actors/peers/peers_messages.hpp"
#include "actors/pipeline/pipeline_messages.hpp"

namespace troupe {

std::vector<message_type> training_messages() {
    std::vector<message_type> all;
    append(all, collective_messages{});
    append(all, params_messages{});
    append(all, peers_messages{});
    append(all, pipeline_messages{});
    append(all, training_control_messages{});
    return all;
}

} // namespace troupe
