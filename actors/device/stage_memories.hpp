// Where the network puts what stages compute with: large tensors of other nodes come straight into the memory of the stage's
// device, where that can be received in (device::network_memory).
//
// Threads: thread-safe.
#pragma once

#include <map>
#include <mutex>

#include "kernels/tensor/memory.hpp"
#include "schemas/base/ids.hpp"

namespace troupe {

class stage_memories {
  public:
    // The pool must outlive all frames that were received in it.
    void add(actor_address stage, memory_pool& pool);
    void remove(actor_address stage);

    // Null where a frame of this type to this actor is read by the host.
    memory_pool* of(actor_address to, std::uint64_t body_type) const;

  private:
    mutable std::mutex lock_;
    std::map<actor_address, memory_pool*> pools_; // guarded by lock_
};

} // namespace troupe
