// Prints the trace hash of the relay workload: relay_hash SEED FAULTS(0..2). Run by relay_sim_test as a process of its own.
#include <cstdio>
#include <cstdlib>

#include "tests/sim/relay_workload.hpp"

int main(int argc, char** argv) {
    if (argc != 3)
        return 2;
    const auto faults = static_cast<troupe::relay_faults>(std::atoi(argv[2]));
    const auto outcome = troupe::run_relay(std::strtoull(argv[1], nullptr, 10), faults);
    std::printf("%016llx\n", static_cast<unsigned long long>(outcome.trace_hash));
    return 0;
}
