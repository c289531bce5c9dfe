#include "apps/tsp/instance.hpp"

#include <algorithm>
#include <utility>

#include "apps/tsp/tsp_limits.hpp"
#include "schemas/base/check.hpp"

namespace troupe::tsp {

namespace {

// TSPLIB's: its pi and its radius of the earth in kilometres decide the digits of known lengths.
constexpr double geo_pi = 3.141592;
constexpr double geo_radius = 6378.388;

// Radians of degrees and minutes, DDD.MM.
double radians(double written) noexcept {
    const double degrees = std::trunc(written);
    return geo_pi * (degrees + 5.0 * (written - degrees) / 3.0) / 180.0;
}

} // namespace

instance instance::of_points(std::string name, edge_weights kind, std::vector<point> points) {
    TROUPE_CHECK(kind != edge_weights::matrix, "points give lengths by a formula");
    TROUPE_CHECK(points.size() >= limits::cities_min && points.size() <= limits::cities_max,
                 "readers refuse other numbers of cities");
    instance made;
    made.name_ = std::move(name);
    made.kind_ = kind;
    made.cities_ = points.size();
    made.points_ = std::move(points);
    if (kind == edge_weights::geo) {
        made.radians_.reserve(made.cities_);
        for (const point& p : made.points_)
            made.radians_.push_back({radians(p.x), radians(p.y)});
    }
    return made;
}

instance instance::of_matrix(std::string name, std::vector<std::int32_t> lengths,
                             std::vector<point> shown) {
    const auto n = static_cast<std::size_t>(std::llround(std::sqrt(lengths.size())));
    TROUPE_CHECK(n * n == lengths.size() && (shown.empty() || shown.size() == n),
                 "a matrix has a row and a column for each city");
    TROUPE_CHECK(n >= limits::cities_min && n <= limits::matrix_cities_max,
                 "readers refuse other numbers of cities");
    instance made;
    made.name_ = std::move(name);
    made.kind_ = edge_weights::matrix;
    made.cities_ = n;
    made.points_ = std::move(shown);
    made.lengths_ = std::move(lengths);
    for (std::size_t a = 0; a < n && made.is_symmetric_; ++a)
        for (std::size_t b = 0; b < a && made.is_symmetric_; ++b)
            made.is_symmetric_ = made.lengths_[a * n + b] == made.lengths_[b * n + a];
    return made;
}

place instance::place_of(city c) const noexcept {
    const auto i = static_cast<std::size_t>(c);
    if (kind_ != edge_weights::geo)
        return {points_[i].x, points_[i].y, 0};
    const point p = radians_[i];
    return {std::cos(p.x) * std::cos(p.y), std::cos(p.x) * std::sin(p.y), std::sin(p.x)};
}

double instance::exact_length(city from, city to) const noexcept {
    TROUPE_CHECK(kind_ != edge_weights::matrix, "points give lengths by a formula");
    const auto a = static_cast<std::size_t>(from), b = static_cast<std::size_t>(to);
    if (kind_ == edge_weights::geo) {
        const point p = radians_[a], q = radians_[b];
        const double q1 = std::cos(p.y - q.y), q2 = std::cos(p.x - q.x), q3 = std::cos(p.x + q.x);
        const double cosine = 0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3);
        return geo_radius * std::acos(std::clamp(cosine, -1.0, 1.0));
    }
    const double x = points_[a].x - points_[b].x, y = points_[a].y - points_[b].y;
    switch (kind_) {
    case edge_weights::att:
        return std::sqrt((x * x + y * y) / 10.0);
    case edge_weights::maximum:
        return std::max(std::abs(x), std::abs(y));
    case edge_weights::manhattan:
        return std::abs(x) + std::abs(y);
    default:
        return std::sqrt(x * x + y * y);
    }
}

std::int64_t instance::other_length(city from, city to) const noexcept {
    if (kind_ == edge_weights::matrix)
        return lengths_[static_cast<std::size_t>(from) * cities_ + static_cast<std::size_t>(to)];
    const double exact = exact_length(from, to);
    switch (kind_) {
    case edge_weights::geo:
        return from == to ? 0 : static_cast<std::int64_t>(exact + 1.0);
    case edge_weights::att: {
        const double rounded = std::floor(exact + 0.5);
        return static_cast<std::int64_t>(rounded < exact ? rounded + 1 : rounded);
    }
    case edge_weights::euclidean_up:
        return static_cast<std::int64_t>(std::ceil(exact));
    default:
        return static_cast<std::int64_t>(exact + 0.5);
    }
}

std::int64_t instance::length_of(std::span<const city> tour) const noexcept {
    std::int64_t sum = tour.empty() ? 0 : length(tour.back(), tour.front());
    for (std::size_t i = 1; i < tour.size(); ++i)
        sum += length(tour[i - 1], tour[i]);
    return sum;
}

bool is_tour(std::span<const city> tour, std::size_t cities) {
    if (tour.size() != cities)
        return false;
    std::vector<bool> is_there(cities);
    for (const city c : tour) {
        if (c < 0 || static_cast<std::size_t>(c) >= cities || is_there[static_cast<std::size_t>(c)])
            return false;
        is_there[static_cast<std::size_t>(c)] = true;
    }
    return true;
}

} // namespace troupe::tsp
