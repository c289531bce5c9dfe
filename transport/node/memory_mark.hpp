// Verified detection of shared memory between two processes: each holds a piece of unnamed memory open, and tells the other
// its own process id, the descriptor and a random token. The memory's name has the token and the node's id, so that nobody
// can pass another node's mark off as its own. A process that finds that name there, in the kernel's list of that process's
// files, is on the same machine, sees its processes by the same ids and may read their memory, as UCX's shared memory
// requires (it opens segments through the same list); then the kernel says whether both are in the same namespaces.
// The boot id of a machine would not suffice: containers share it, but may see nothing of each other.
//
// Threads: each object is used by one thread at a time. Errors: errc::io.
#pragma once

#include "schemas/base/error.hpp"
#include "transport/handshake/control.hpp"
#include "transport/tcp/socket.hpp"

namespace troupe {

// This process's mark, visible to others while this object lives. Leaves nothing behind, even if the process is killed.
class own_memory_mark {
  public:
    static result<own_memory_mark> create(node_id self);

    const memory_mark& where() const noexcept { return where_; }

  private:
    file_descriptor memory_;
    memory_mark where_;
};

// True if this process can share memory with the one that claims this mark, the node that `peer` is proven to be. The claim
// is not trusted: nothing is opened, only the name of a link is read.
bool is_seen(const memory_mark& of_peer, node_id peer);

} // namespace troupe
