#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "actors/pipeline/partition.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;

namespace {

// The bottleneck of one way of cutting, by its definition.
double bottleneck(std::span<const layer_cost> layers, const std::vector<std::size_t>& begins) {
    double slowest = 0;
    for (std::size_t k = 0; k < begins.size(); ++k) {
        const std::size_t end = k + 1 < begins.size() ? begins[k + 1] : layers.size();
        double compute = 0;
        for (std::size_t i = begins[k]; i < end; ++i)
            compute += layers[i].compute_ns;
        const double received = begins[k] > 0 ? layers[begins[k] - 1].link_ns : 0;
        const double sent = end < layers.size() ? layers[end - 1].link_ns : 0;
        slowest = std::max(slowest, compute + received + sent);
    }
    return slowest;
}

double best_by_enumeration(std::span<const layer_cost> layers, std::size_t stages, std::vector<std::size_t> begins) {
    if (begins.size() == stages)
        return bottleneck(layers, begins);
    double best = 1e300;
    for (std::size_t next = begins.back() + 1; next < layers.size(); ++next) {
        begins.push_back(next);
        best = std::min(best, best_by_enumeration(layers, stages, begins));
        begins.pop_back();
    }
    return best;
}

} // namespace

BOOST_AUTO_TEST_SUITE(partitions)

BOOST_AUTO_TEST_CASE(the_partition_is_the_best_of_all_contiguous_ones) {
    random_stream random{7};
    for (int round = 0; round < 200; ++round) {
        std::vector<layer_cost> layers(1 + random.below(8));
        for (layer_cost& l : layers)
            l = {double(random.below(100)), double(random.below(60))}; // whole numbers: sums are exact
        for (std::size_t stages = 1; stages <= layers.size(); ++stages) {
            const partition p = partition_layers(layers, stages);
            std::vector<std::size_t> begins;
            std::size_t covered = 0;
            for (const layer_range& stage : p.stages) {
                BOOST_TEST(stage.first == covered);
                BOOST_TEST(stage.count > 0u);
                begins.push_back(stage.first);
                covered += stage.count;
            }
            BOOST_TEST(covered == layers.size());
            BOOST_TEST(p.slowest_ns == bottleneck(layers, begins));
            BOOST_TEST(p.slowest_ns == best_by_enumeration(layers, stages, {0}));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
