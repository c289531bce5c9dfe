// Actor numbers that every node gives to the same actor, so that another node can address it
// without asking first.
#pragma once

#include "schemas/base/ids.hpp"

namespace troupe::well_known {

inline constexpr actor_number nobody{0};    // the node itself
inline constexpr actor_number cluster{1};   // membership and heartbeats; schemas/cluster.capnp
inline constexpr actor_number agent{2};     // spawns actors of runs on its node; schemas/run.capnp
inline constexpr actor_number inspector{3}; // answers inspectors; schemas/trace.capnp
inline constexpr actor_number watcher{
    4}; // reports the end of local actors to other nodes; schemas/cluster.capnp
inline constexpr actor_number profiler{5}; // measures layers of models; schemas/training.capnp

inline constexpr actor_number first_free{16}; // actors without a well-known number count from here

} // namespace troupe::well_known
