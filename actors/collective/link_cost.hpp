// What messages cost, as measured: the one place for it. Read by the choice of `auto` (all_reduce.hpp) and by the cut into
// stages (actors/plan). The same everywhere: what all ranks decide must not depend on what one has measured.
#pragma once

namespace troupe {

// What a message costs, and a byte of it.
struct link_cost {
    double latency_ns = 0;
    double byte_ns = 0;
};

struct reduce_costs {
    link_cost within_node; // by pointer: bytes are read where they are
    link_cost
        between_nodes; // processes of one machine or of several; all of a node's ranks share it
    double add_byte_ns = 0; // of a sum, by byte of the result
};

// On the machine of tests/bench/README.md, over shared memory: fitted to what bench_all_reduce takes by each algorithm with
// 2 and 4 ranks, 1 KB to 16 MB. A round takes the latency however little is sent: it often has to wake somebody.
inline constexpr reduce_costs measured_costs{
    .within_node = {.latency_ns = 1'000, .byte_ns = 0},
    .between_nodes = {.latency_ns = 50'000, .byte_ns = 0.15},
    .add_byte_ns = 0.1,
};

} // namespace troupe
