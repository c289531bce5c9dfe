// Limits of tables of schedules. What comes from outside is compared with these before it is used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/base/limits.hpp"

namespace troupe::limits {

// `stages_max` bounds the stages of one replica, and the devices.
inline constexpr std::uint32_t schedule_replicas_max = 8;        // of one table
inline constexpr std::uint32_t schedule_microbatches_max = 4096; // of one replica's minibatch
inline constexpr std::uint32_t schedule_ahead_max = 256;         // minibatches, and updates behind
inline constexpr std::size_t schedule_steps_max = 1u << 20;      // of one table
// Steps of all minibatches that a table is tried with.
inline constexpr std::size_t schedule_tried_steps_max = 1u << 24;
inline constexpr std::size_t schedule_file_bytes_max = 1u << 24;

} // namespace troupe::limits
