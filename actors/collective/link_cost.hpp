// Costs of messages, as measured, in one place. Read by the choice of `auto` (all_reduce.hpp) and by the partition into
// stages (actors/training/plan). They are the same everywhere: a decision of all ranks must not depend on the measurements
// of one rank.
#pragma once

namespace troupe {

// The cost of a message, and of each of its bytes.
struct link_cost {
    double latency_ns = 0;
    double byte_ns = 0;
};

struct reduce_costs {
    link_cost within_node; // by pointer: bytes are read where they are
    // Between processes of one machine or of several; all ranks of a node share the link.
    link_cost between_nodes;
    double add_byte_ns = 0; // of a sum, per byte of the result
};

// Measured on the machine of tests/bench/README.md, over shared memory: a fit to the times of bench_all_reduce for each
// algorithm with 2 and 4 ranks, 1 KB to 16 MB. A round takes the latency however little is sent, as it often has to wake a
// thread.
inline constexpr reduce_costs measured_costs{
    .within_node = {.latency_ns = 1'000, .byte_ns = 0},
    .between_nodes = {.latency_ns = 50'000, .byte_ns = 0.15},
    .add_byte_ns = 0.1,
};

} // namespace troupe
