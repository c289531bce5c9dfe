// Where the network puts what stages compute with: large tensors of other nodes come straight into the memory of the stage's
// device, where that can be received in (device::network_memory).
//
// Threads: thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "kernels/device/device.hpp"
#include "schemas/base/ids.hpp"

namespace troupe {

class stage_memories {
  public:
    // Of a stage on this device, which must outlive all frames that were received in its memory.
    void add(actor_address stage, std::shared_ptr<device> on);
    void remove(actor_address stage);

    // Null where a frame of this type to this actor is read by the host, and where the device is lost.
    memory_pool* of(actor_address to, std::uint64_t body_type) const;

  private:
    mutable std::mutex lock_;
    std::map<actor_address, std::shared_ptr<device>> devices_; // guarded by lock_
};

} // namespace troupe
