// Prints the trace hash of a pipeline under faults: pipeline_hash SEED. Run by pipeline_sim_test as a process of its own.
#include <cstdio>
#include <cstdlib>

#include "tests/sim/pipeline_sim.hpp"

int main(int argc, char** argv) {
    if (argc != 2)
        return 2;
    const auto hash = troupe::test::stormy_trace_hash(std::strtoull(argv[1], nullptr, 10));
    std::printf("%016llx\n", static_cast<unsigned long long>(hash));
    return 0;
}
