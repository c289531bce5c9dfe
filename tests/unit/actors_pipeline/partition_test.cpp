#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <compare>

#include "actors/pipeline/shape/partition.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;

namespace {

// What a way of cutting costs, by its definition; the better one is less.
struct cut_cost {
    double slowest = 0;
    double traffic = 0;

    friend auto operator<=>(const cut_cost&, const cut_cost&) = default;
};

cut_cost cost_of(std::span<const layer_cost> layers, const std::vector<std::size_t>& begins) {
    cut_cost cost;
    for (std::size_t k = 0; k < begins.size(); ++k) {
        const std::size_t end = k + 1 < begins.size() ? begins[k + 1] : layers.size();
        double compute = 0;
        for (std::size_t i = begins[k]; i < end; ++i)
            compute += layers[i].compute_ns;
        const double received = begins[k] > 0 ? layers[begins[k] - 1].link_ns : 0;
        const double sent = end < layers.size() ? layers[end - 1].link_ns : 0;
        cost.slowest = std::max(cost.slowest, compute + received + sent);
        cost.traffic += received;
    }
    return cost;
}

cut_cost best_by_enumeration(std::span<const layer_cost> layers, std::size_t stages,
                             std::vector<std::size_t> begins) {
    if (begins.size() == stages)
        return cost_of(layers, begins);
    cut_cost best{1e300};
    for (std::size_t next = begins.back() + 1; next < layers.size(); ++next) {
        begins.push_back(next);
        best = std::min(best, best_by_enumeration(layers, stages, begins));
        begins.pop_back();
    }
    return best;
}

} // namespace

BOOST_AUTO_TEST_SUITE(partitions)

BOOST_AUTO_TEST_CASE(
    the_partition_has_the_least_time_of_all_and_among_equal_ones_the_least_traffic) {
    random_stream random{7};
    for (int round = 0; round < 200; ++round) {
        std::vector<layer_cost> layers(1 + random.below(8));
        for (layer_cost& l : layers)
            l = {double(random.below(100)),
                 double(random.below(60))}; // whole numbers: sums are exact
        for (std::size_t stages = 1; stages <= layers.size(); ++stages) {
            const auto ranges = partition_layers(layers, stages);
            BOOST_TEST(ranges.size() == stages);
            std::vector<std::size_t> begins;
            std::size_t covered = 0;
            for (const layer_range& stage : ranges) {
                BOOST_TEST(stage.first == covered);
                BOOST_TEST(stage.count > 0u);
                begins.push_back(stage.first);
                covered += stage.count;
            }
            BOOST_TEST(covered == layers.size());
            const cut_cost found = cost_of(layers, begins);
            const cut_cost best = best_by_enumeration(layers, stages, {0});
            BOOST_TEST(found.slowest == best.slowest);
            BOOST_TEST(found.traffic == best.traffic);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
