// Floats for loops that are given pointers, and how far they are from exact numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "schemas/base/random.hpp"

namespace troupe::test {

// Floats at an odd address of four bytes, with others around them that are to stay as they are.
class guarded_floats {
  public:
    explicit guarded_floats(std::size_t count, float value = 0) : all_(count + 2 * around, edge) {
        std::fill(begin(), end(), value);
    }
    guarded_floats(std::size_t count, random_stream& random) : guarded_floats{count} {
        std::generate(begin(), end(), [&] { return static_cast<float>(random.normal()); });
    }

    float* data() { return all_.data() + around; }
    const float* data() const { return all_.data() + around; }
    float operator[](std::size_t i) const { return data()[i]; }
    std::size_t size() const { return all_.size() - 2 * around; }
    bool is_whole() const {
        const auto is_edge = [](float x) { return x == edge; };
        return std::all_of(all_.begin(), all_.begin() + around, is_edge) &&
               std::all_of(all_.end() - around, all_.end(), is_edge);
    }
    friend bool operator==(const guarded_floats&, const guarded_floats&) = default;

  private:
    static constexpr std::ptrdiff_t around = 17;
    static constexpr float edge = 7777;
    std::vector<float>::iterator begin() { return all_.begin() + around; }
    std::vector<float>::iterator end() { return all_.end() - around; }
    std::vector<float> all_;
};

// The largest difference, in parts of the largest exact number.
inline double difference(const guarded_floats& found, const std::vector<double>& exact) {
    double largest = 0, scale = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        const double here = std::abs(double{found[i]} - exact[i]);
        largest = here <= largest ? largest : here; // NaN counts
        scale = std::max(scale, std::abs(exact[i]));
    }
    return largest / scale;
}

} // namespace troupe::test
