// Whether two processes share memory, found out rather than believed: each holds a piece of unnamed memory open, and tells
// the other its own process, the descriptor and a random token. Who finds the token there, in the kernel's list of that
// process's files, is on the same machine, sees its processes by the same numbers and may read their memory, which is what
// UCX's shared memory needs (it opens segments by the same list); then the kernel says whether both are in the same
// namespaces. The boot id of a machine would not show that: containers, which share it, may see nothing of each other.
//
// Threads: each by one at a time. Errors: errc::io.
#pragma once

#include "schemas/base/error.hpp"
#include "transport/handshake/control.hpp"
#include "transport/ucx/socket.hpp"

namespace troupe {

// This process's; others can see it while this object lives. Leaves nothing behind, also where the process is killed.
class own_memory_mark {
  public:
    static result<own_memory_mark> create();

    const memory_mark& where() const noexcept { return where_; }

  private:
    file_descriptor memory_;
    memory_mark where_;
};

// Whether this process can share memory with the one that says it has this mark. What it says is not trusted: nothing is
// opened, the name of a link is read.
bool is_seen(const memory_mark& of_peer);

} // namespace troupe
