// Runs of replicas with a parameter server in the simulator.
#pragma once

#include <numeric>

#include "tests/sim/replicas_sim.hpp"

namespace troupe::test {

inline std::string server(const std::string& consistency, unsigned shards = 0) {
    return "{parameter_server: {consistency: " + consistency +
           ", shards: " + std::to_string(shards) + "}}";
}

// With further keys of the server.
inline std::string server_with(const std::string& consistency, const std::string& more) {
    return "{parameter_server: {consistency: " + consistency + ", " + more + "}}";
}

// How many pushes of all replicas were applied, and the most updates that one of them came late by.
inline std::pair<std::uint64_t, std::uint64_t> lags_of(const run_report& report) {
    std::uint64_t pushes = 0, latest = 0;
    for (const stage_report& stage : report.stages) {
        pushes += std::accumulate(stage.lags.begin(), stage.lags.end(), std::uint64_t{0});
        for (std::size_t k = 0; k < stage.lags.size(); ++k)
            if (stage.lags[k] > 0)
                latest = std::max<std::uint64_t>(latest, k);
    }
    return {pushes, latest};
}

} // namespace troupe::test
