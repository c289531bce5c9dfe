#include <boost/test/unit_test.hpp>

#if defined(__x86_64__)

#include <cstring>
#include <vector>

#include "kernels/cpu/tour_loops.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;

namespace {

// What a table makes of the same numbers: all results.
std::vector<double> results(const cpu::tour_loops& loops) {
    random_stream random{9};
    constexpr std::size_t cities = 501, candidates = 11; // no multiples of any vector
    std::vector<std::int32_t> near(cities * candidates), tour(cities);
    for (std::int32_t& c : near)
        c = static_cast<std::int32_t>(random.below(cities));
    for (std::size_t c = 0; c < cities; ++c)
        tour[c] = static_cast<std::int32_t>(c);
    std::vector<std::uint64_t> left(cities);
    std::vector<double> places[3], numbers(cities), trails(near.size()), nearness(near.size());
    for (auto& along : places)
        for (std::size_t c = 0; c < cities; ++c)
            along.push_back(static_cast<double>(random.below(9))); // many are as near as others
    for (std::size_t c = 0; c < cities; ++c) {
        left[c] = random.below(2) == 0 ? 0 : ~std::uint64_t{0};
        numbers[c] = static_cast<double>(cities - 1 - c);
    }
    for (std::size_t e = 0; e < near.size(); ++e) {
        trails[e] = random.uniform();
        nearness[e] = random.uniform();
    }
    std::vector<double> all, weights(near.size()), sums(candidates);
    const auto keep = [&all](const std::vector<double>& some) {
        all.insert(all.end(), some.begin(), some.end());
    };
    const auto keep_place = [&all](std::size_t place) {
        all.push_back(static_cast<double>(place));
    };
    for (std::size_t c = 0; c < cities; ++c) {
        loops.left_sums({near.data() + c * candidates, nearness.data(), candidates}, left.data(),
                        weights.data(), sums.data());
        keep(sums);
        for (const double share : {0.0, 0.3, 2.0})
            keep_place(loops.first_above(sums.data(), candidates, share * sums.back()));
        keep_place(loops.first_of_largest(weights.data(), candidates));
        const double from[] = {places[0][c], places[1][c], places[2][c]};
        for (const bool is_plane : {false, true})
            keep_place(loops.nearest({cities - c,
                                      numbers.data() + c,
                                      {places[0].data() + c, places[1].data() + c,
                                       is_plane ? nullptr : places[2].data() + c}},
                                     from));
    }
    keep_place(loops.largest(near.data(), near.size()));
    loops.scale(0.9, trails.data(), trails.size());
    for (const bool both_ways : {false, true})
        loops.lay(
            {trails.data(), near.data(), candidates, tour.data(), cities, 0.8, 0.7, both_ways});
    loops.limit({0.2, 0.9}, trails.data(), trails.size());
    keep(trails);
    for (const std::size_t power : {0, 1, 5}) {
        loops.weigh(power, trails.data(), nearness.data(), weights.data(), weights.size());
        keep(weights);
    }
    return all;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), 8 * a.size()) == 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_instruction_set_walks_the_same_way) {
    const auto expected = results(cpu::tour_loops_baseline);
    if (__builtin_cpu_supports("avx2"))
        BOOST_TEST(same_bits(results(cpu::tour_loops_avx2), expected));
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        BOOST_TEST(same_bits(results(cpu::tour_loops_avx512), expected));
}

#endif
