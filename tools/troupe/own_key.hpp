// The key of a user: nodes and commands that are started without --key hold it on loopback addresses, so that no other user
// of the machine can connect. It is made once, in a file that the user alone may read: ~/.cache/troupe/own.key or, where the
// home folder is not the user's or takes no file, /tmp/troupe-UID/own.key.
//
// Threads: one. Errors: errc::usage where the folder or the file may be another user's; errc::io.
#pragma once

#include "transport/handshake/cluster_keys.hpp"

namespace troupe::cli {

result<cluster_keys> own_key();

} // namespace troupe::cli
