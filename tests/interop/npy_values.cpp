// What is in arrays that NumPy has saved, for numpy_arrays.py to compare: for every name one JSON object per line, with the
// shape and the values, or with why it is refused.
#include <cstdio>
#include <cstring>
#include <string>

#include <nlohmann/json.hpp>

#include "actors/data/samples/npy_reader.hpp"

using namespace troupe;

namespace {

nlohmann::json described(const std::string& name, npy_use use) {
    const auto array = read_npy(name, use);
    if (!array)
        return {{"refused", array.failure().message()}};
    std::vector<std::size_t> shape{array->samples};
    for (const std::size_t d : array->sample_shape.dimensions())
        shape.push_back(d);
    nlohmann::json out = {{"shape", shape}};
    std::visit([&](const auto& values) { out["values"] = values; }, array->values);
    return out;
}

} // namespace

int main(int count, char** names) {
    for (int i = 1; i < count; ++i)
        std::puts(described(names[i], std::strstr(names[i], "labels") != nullptr ? npy_use::labels
                                                                                 : npy_use::inputs)
                      .dump()
                      .c_str());
}
