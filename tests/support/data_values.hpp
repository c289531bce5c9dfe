// What is in columns and tensors, as vectors that compare.
#pragma once

#include <vector>

#include "actors/data/samples/dataset.hpp"

namespace troupe::test {

template <class T>
std::vector<T> values_of(const tensor& t) {
    return {t.values<T>().begin(), t.values<T>().end()};
}

// The values of one sample, or of a label of one value.
template <class T>
std::vector<T> values_of(const column& c, std::size_t sample) {
    const auto block = c.block<T>(sample);
    return {block.begin(), block.end()};
}

// All values that a column keeps.
template <class T>
const std::vector<T>& array_of(const column& c) {
    return std::get<std::vector<T>>(*c.array);
}

} // namespace troupe::test
