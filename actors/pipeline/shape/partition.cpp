#include "actors/pipeline/shape/partition.hpp"

#include <algorithm>
#include <limits>

namespace troupe {

std::vector<layer_range> partition_layers(std::span<const layer_cost> layers, std::size_t stages) {
    TROUPE_CHECK(stages >= 1 && stages <= layers.size(), "every stage gets a layer");
    const std::size_t n = layers.size();
    std::vector<double> before(n + 1, 0.0); // computation of the layers before the i-th
    for (std::size_t i = 0; i < n; ++i)
        before[i + 1] = before[i] + layers[i].compute_ns;

    // Time of a stage of the layers begin .. end - 1, with its transfers.
    const auto stage_ns = [&](std::size_t begin, std::size_t end) {
        return before[end] - before[begin] + (begin > 0 ? layers[begin - 1].link_ns : 0.0) +
               (end < n ? layers[end - 1].link_ns : 0.0);
    };

    // best[k][j]: cost of the first j layers in k stages; cut[k][j]: first layer of the last of these stages.
    const double infinite = std::numeric_limits<double>::infinity();
    std::vector cut(stages + 1, std::vector<std::size_t>(n + 1, 0));
    const auto fill = [&](const auto& cost) {
        std::vector best(stages + 1, std::vector<double>(n + 1, infinite));
        best[0][0] = 0;
        for (std::size_t k = 1; k <= stages; ++k)
            for (std::size_t j = k; j <= n; ++j)
                for (std::size_t i = k - 1; i < j; ++i)
                    if (const double c = cost(best[k - 1][i], i, j); c < best[k][j]) {
                        best[k][j] = c;
                        cut[k][j] = i;
                    }
        return best[stages][n];
    };
    const double slowest = fill([&](double before_it, std::size_t i, std::size_t j) {
        return std::max(before_it, stage_ns(i, j));
    });
    // The second run finds the least traffic among the partitions that reach this bottleneck.
    fill([&](double before_it, std::size_t i, std::size_t j) {
        return stage_ns(i, j) > slowest ? infinite
                                        : before_it + (i > 0 ? layers[i - 1].link_ns : 0.0);
    });

    std::vector<layer_range> result(stages);
    for (std::size_t k = stages, end = n; k > 0; --k) {
        const std::size_t begin = cut[k][end];
        result[k - 1] = {begin, end - begin};
        end = begin;
    }
    return result;
}

} // namespace troupe
