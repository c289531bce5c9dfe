#include "actors/agent/stage_memories.hpp"

#include "schemas/pipeline.capnp.h"
#include "transport/frame/frame.hpp"

namespace troupe {

void stage_memories::add(actor_address stage, std::shared_ptr<device> on) {
    if (on->network_memory() == nullptr)
        return;
    std::lock_guard guard{lock_};
    devices_[stage] = std::move(on);
}

void stage_memories::remove(actor_address stage) {
    std::lock_guard guard{lock_};
    devices_.erase(stage);
}

// A stage's work begins by bringing these in.
memory_pool* stage_memories::of(actor_address to, std::uint64_t body_type) const {
    if (body_type != type_id_of<proto::Activation>() &&
        body_type != type_id_of<proto::Gradient>() &&
        body_type != type_id_of<proto::EvaluationBatch>())
        return nullptr;
    std::lock_guard guard{lock_};
    const auto found = devices_.find(to);
    return found != devices_.end() && !found->second->lost() ? found->second->network_memory()
                                                             : nullptr;
}

} // namespace troupe
