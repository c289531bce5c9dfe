// Operations of ant colonies: ants build tours city by city, and trails of pheromone follow from tours. Trails lie on the
// ways from each city to a few candidates alone, so that memory grows with the cities.
//
// There are forms for processors, where the lanes of a register share the work of one ant ("a queen and her workers").
// GPUs have none yet: their back end refuses these operations with errc::usage.
//
// Sources: Dorigo, Stützle, Ant colony optimization (2004); Cecilia et al., Enhancing data parallelism for ant colony
// optimization on GPUs (2013).
#pragma once

#include <cstdint>

#include "kernels/tensor/tensor.hpp"

namespace troupe {

// How an ant chooses among weights. exact: in proportion to them. independent: the largest of the weights, each times a
// random number, which every lane draws for itself (the I-Roulette of Cecilia et al.). That is another distribution, which
// favours large weights: of two, w1 >= w2, it takes the first with probability 1 - w2 / (2 w1) instead of w1 / (w1 + w2);
// of equal ones it takes each as often.
enum class city_choice : std::uint8_t { exact, independent };

// base^exponent, of small whole exponents by products, which are the same on all machines.
double trail_power(double base, double exponent) noexcept;

// Tensors of (cities, count) numbers each, float64 but for the candidates. errc::data for a candidate that is no city.
struct trail_operands {
    const tensor& candidates; // int32: the cities to which a city's ways have trails
    const tensor& nearness;
    tensor& trails;
    tensor& weights; // trails^power * nearness: ants go by these; at least 0
    double power = 1;
    // A trail that is laid from a to b lies from b to a, too, as far as a is a candidate of b.
    bool both_ways = true;
};

// tours[i] = the cities in the order in which ant i visits them. It begins anywhere, and goes on to a candidate that it has
// not visited, chosen by weights; where there is none, to the nearest city that it has not visited: by the straight line
// between places, or by lengths. Of several that are as near the lowest number is the nearest.
//
// With a share of greed it takes, that often, the first of the heaviest candidates outright. An ant that takes up trails
// changes those of the ways to candidates that it goes, as it goes, trail = (1 - share) * trail + share * to, with their
// weights; so ants go one after the other.
//
// Ant i draws from random_stream{seed, first_ant + i}: its first city, by below(); for each next one whether it is greedy,
// by uniform(), if there is greed; and what kernels/reference/city_choice.hpp draws for the weights of the candidates, in
// their order, of which those of visited cities are 0. errc::data as above.
struct construct_tours {
    struct take_up {
        double share = 0;
        double to = 0;
    };
    city_choice choice;
    std::uint64_t seed;
    std::uint64_t first_ant;
    double greed = 0; // at least 0, at most 1
    take_up taken = {};
    trail_operands on;     // changed where taken.share is above 0, and only then
    const tensor* places;  // (cities, 2 or 3), float64; or null where there are lengths
    const tensor* lengths; // (cities, cities), int32: [a][b] from a to b; or null
    tensor& tours;         // (ants, cities), int32

    result<void> check() const;
};

// trails = clamp(kept * trails + what tours lay, low, high), with their weights: tour i lays amounts[i] on each way from a
// city to the next one and from the last to the first, one tour after the other. With evaporates_laid_alone trails shrink
// only on the ways of the tours: trail = kept * trail + amount there. errc::data for a tour that names what is no city.
struct update_trails {
    double kept = 1;
    bool evaporates_laid_alone = false;
    double low, high;
    const tensor& tours;   // (tours, cities), int32; there may be none
    const tensor& amounts; // (tours), float64
    trail_operands on;

    result<void> check() const;
};

// The error for a number at place i of candidates or tours that is no city.
error no_city(const tensor& numbers, std::size_t i, std::size_t cities);

} // namespace troupe
