// A travelling salesman problem: cities and the lengths of the ways between them, in whole units.
//
// Coordinates take memory in proportion to the cities, a matrix to their square. Cities are numbered from 0.
//
// Threads: immutable once made. Errors: TROUPE_CHECK for sizes that the readers refuse.
// Source: Reinelt, TSPLIB 95, for the lengths.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe::tsp {

using city = std::int32_t;
constexpr city no_city = -1; // what stands where a city is missing

struct point {
    double x = 0;
    double y = 0;

    bool operator==(const point&) const = default;
};

// In a space in which what is nearer by a straight line is not farther by length; of `maximum` and `manhattan` at most by
// the root of 2.
using place = std::array<double, 3>;

// How lengths follow from coordinates; `matrix`: they are given. Digests of problems have their numbers.
enum class edge_weights : std::uint8_t {
    euclidean,
    euclidean_up,
    att,
    geo,
    matrix,
    maximum,
    manhattan
};
inline constexpr edge_weights last_of_edge_weights = edge_weights::manhattan;

class instance {
  public:
    // Lengths by coordinates; not `matrix`.
    static instance of_points(std::string name, edge_weights kind, std::vector<point> points);
    // lengths[a * cities + b] is the length from a to b; `shown`: where cities are drawn, or empty.
    static instance of_matrix(std::string name, std::vector<std::int32_t> lengths,
                              std::vector<point> shown);

    const std::string& name() const noexcept { return name_; }
    std::size_t cities() const noexcept { return cities_; }
    // Whether each way is as long as the way back.
    bool is_symmetric() const noexcept { return is_symmetric_; }
    edge_weights kind() const noexcept { return kind_; }
    // Points of the cities, where they have coordinates or are drawn; else empty.
    std::span<const point> points() const noexcept { return points_; }

    // The place of a city whose lengths follow from coordinates: in the plane, or on a globe.
    place place_of(city c) const noexcept;

    // From a to b, before it is rounded to whole units; not of a matrix.
    double exact_length(city a, city b) const noexcept;
    // From a to b.
    std::int64_t length(city a, city b) const noexcept {
        if (kind_ != edge_weights::euclidean)
            return other_length(a, b);
        const point p = points_[static_cast<std::size_t>(a)],
                    q = points_[static_cast<std::size_t>(b)];
        const double x = p.x - q.x, y = p.y - q.y;
        return static_cast<std::int64_t>(std::sqrt(x * x + y * y) + 0.5);
    }
    // Whether length(a, b) is so long; mostly without a root.
    bool is_at_least(std::int64_t so_long, city a, city b) const noexcept {
        if (so_long <= 0)
            return true;
        if (kind_ == edge_weights::euclidean) {
            const point p = points_[static_cast<std::size_t>(a)],
                        q = points_[static_cast<std::size_t>(b)];
            const double x = p.x - q.x, y = p.y - q.y, z = static_cast<double>(so_long);
            if (x * x + y * y >= z * z)
                return true;
        }
        return length(a, b) >= so_long;
    }
    // The length of the closed tour that visits these cities in their order.
    std::int64_t length_of(std::span<const city> tour) const noexcept;

  private:
    instance() = default;
    std::int64_t other_length(city a, city b) const noexcept;

    std::string name_;
    edge_weights kind_ = edge_weights::euclidean;
    std::size_t cities_ = 0;
    bool is_symmetric_ = true;
    std::vector<point> points_;
    std::vector<point> radians_; // of geo: latitude and longitude
    std::vector<std::int32_t> lengths_;
};

// Whether each of `cities` cities is there once.
bool is_tour(std::span<const city> tour, std::size_t cities);

} // namespace troupe::tsp
