// Measures the layers of models on a node's devices (well-known actor 5), as schemas/training.capnp says (ProfileModel).
//
// Threads: an actor's; the devices' for what it measures.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "kernels/device/device.hpp"
#include "schemas/device.capnp.h"
#include "schemas/training.capnp.h"

namespace troupe {

class layer_profiler final : public actor {
  public:
    layer_profiler(actor_context& context, std::vector<std::shared_ptr<device>> devices);

  private:
    void profile(proto::ProfileModel::Reader body, const frame& f);
    void work_done(proto::WorkDone::Reader body, const frame& f);
    void on_down(actor_address who, const error& why) override;

    result<std::shared_ptr<device>> check(proto::ProfileModel::Reader body, node_id asking) const;
    void refuse(actor_address asking, std::uint64_t run, const error& why);

    // A measurement on a device, until its WorkDone. Shared with it: it works after the request has been handled.
    struct measurement {
        frame_ptr request;
        std::vector<std::uint64_t> nanoseconds; // written by the device, read after its WorkDone
        std::atomic<bool> given_up{false};      // whoever asked is gone
    };
    struct profiling {
        actor_address asked_by;
        std::uint64_t run = 0;
        std::shared_ptr<measurement> work;
    };

    const std::vector<std::shared_ptr<device>> devices_;
    std::map<std::uint64_t, profiling> profiles_; // by ticket; of a node at most one
    std::uint64_t ticket_ = 0;
};

} // namespace troupe
