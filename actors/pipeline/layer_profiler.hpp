// Measures the layers of models on a node's devices (well-known actor 5), as schemas/training.capnp says (ProfileModel).
//
// Threads: an actor's; measurements run on the devices' threads.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/work_queue.hpp"
#include "kernels/device/device.hpp"
#include "schemas/training.capnp.h"

namespace troupe {

class layer_profiler final : public actor {
  public:
    layer_profiler(actor_context& context, std::vector<std::shared_ptr<device>> devices);

  private:
    void profile(proto::ProfileModel::Reader body, const frame& f);
    void on_down(actor_address who, const error& why) override;

    result<std::shared_ptr<device>> check(proto::ProfileModel::Reader body, node_id asking) const;
    void refuse(actor_address asking, std::uint64_t run, const error& why);

    // A measurement; it runs on a device after the request has been handled.
    struct measurement {
        frame_ptr request;
        std::vector<std::uint64_t> nanoseconds; // written by the device, read when it is done
        std::atomic<bool> given_up{false};      // the requester is gone
    };
    void finish(const std::shared_ptr<measurement>& done, const result<void>& outcome);

    const std::vector<std::shared_ptr<device>> devices_;
    std::list<std::shared_ptr<measurement>> under_way_; // at most one for each requesting node
    work_queue work_;
};

} // namespace troupe
