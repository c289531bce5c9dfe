// The counts of an epoch at a stage, for its trainer. A value.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/graph/model_loss.hpp"
#include "schemas/base/time_source.hpp"
#include "schemas/training.capnp.h"

namespace troupe {

struct stage_counts {
    std::vector<std::uint64_t> lags; // lags[k]: minibatches whose update came k versions late
    std::uint64_t dropped = 0;       // gradients that the parameter server has dropped
    duration busy{};                 // device time
    time_point began;
    // The oldest version that a pass of the minibatch has used so far.
    std::optional<weight_version> oldest_used;
    loss_result of_minibatch; // last stage: sums over the minibatch's microbatches so far

    void count_lag(std::uint64_t lag) {
        if (lags.size() <= lag)
            lags.resize(lag + 1);
        ++lags[lag];
    }
    void write(proto::StageEpochDone::Builder to, time_point now) const {
        auto list = to.initLags(static_cast<unsigned>(lags.size()));
        for (unsigned k = 0; k < list.size(); ++k)
            list.set(k, lags[k]);
        to.setDropped(dropped);
        to.setBusyNs(busy.count());
        to.setEpochNs((now - began).count());
    }
};

} // namespace troupe
