// The options of a stage, as a node's agent reads them from a trainer's request.
#pragma once

#include <memory>
#include <vector>

#include "actors/pipeline/shape/pipeline_place.hpp"
#include "actors/pipeline/shape/run_roles.hpp"
#include "kernels/device/device.hpp"
#include "kernels/graph/stage_program.hpp"
#include "kernels/optim/clip.hpp"
#include "kernels/optim/learning_rate.hpp"
#include "kernels/optim/optimizer.hpp"

namespace troupe {

class device_turns; // device_turns.hpp

// The agreement of a stage with its other replicas (agreement.hpp): its kind, its companions, and the form in which the
// stage gives them its gradients.
struct agreement_options {
    replica_sync sync;
    std::vector<run_role> companions; // the stage's; ConnectStage has their addresses
    // Makes the payloads that the reducer gets in place of gradients, and is used by the device
    // alone; null: the reducer gets gradients.
    std::shared_ptr<gradient_encoder> encoder;
    // By parameter: the reducer or the cache gets its gradient as factors (stage_program::backward);
    // empty: none.
    std::vector<bool> as_factors;
    std::uint32_t worker = 0; // number at the server: this replica's, or one for all of the node's
};

// The rule by which a stage makes the next version of its weights from gradients.
struct update_options {
    optimizer_ptr rule;
    learning_rates rates; // by minibatch of the run
    gradient_clip clip;
};

// Owned by the stage; its parts read it (stage_port.hpp).
struct stage_options {
    pipeline_place at;
    agreement_options agreement;
    update_options update;
    std::shared_ptr<const stage_program> program;
    number_form_ptr activations; // form of activations and gradients between stages; null: float32
    std::shared_ptr<device> compute;
    std::shared_ptr<device_turns>
        turns; // with other stages on the device; null: the stage is alone on it
    std::uint64_t seed = 0;
    actor_address trainer;

    // True if received tensors are copied to the device, and sent ones to the host.
    bool has_own_memory() const noexcept { return compute->memory().kind() == memory_kind::device; }
};

} // namespace troupe
