#include "tests/conformance/broken_payloads.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace troupe::test {

using scheduled::payload;

namespace {

tensor copy_of(const tensor& t, memory_pool& memory, data_type type, std::size_t elements) {
    tensor made = tensor::allocate(memory, type, {elements}).value();
    if (made.bytes() > 0) {
        std::memset(made.mutable_data(), 0, made.bytes());
        if (t.bytes() > 0)
            std::memcpy(made.mutable_data(), t.data(), std::min(t.bytes(), made.bytes()));
    }
    return made;
}

template <class Number>
void overwrite(tensor& t, std::size_t at, Number by) {
    t.mutable_values<Number>()[at] = by;
}

// Writes the k-th of the numbers that nobody expects.
constexpr std::size_t odd_numbers = 5;
void overwrite_oddly(tensor& t, std::size_t at, std::size_t k) {
    using limits32 = std::numeric_limits<std::int32_t>;
    using limits64 = std::numeric_limits<std::int64_t>;
    const double reals[odd_numbers] = {NAN, INFINITY, -1, 1e300, -1e-300};
    const std::int64_t wholes[odd_numbers] = {-1, limits64::max(), limits64::min(), 1 << 20, 7};
    switch (t.type()) {
    case data_type::float32:
        return overwrite(t, at, static_cast<float>(reals[k]));
    case data_type::float64:
        return overwrite(t, at, reals[k]);
    case data_type::int32:
        return overwrite(t, at,
                         k == 1   ? limits32::max()
                         : k == 2 ? limits32::min()
                                  : static_cast<std::int32_t>(wholes[k]));
    case data_type::int64:
        return overwrite(t, at, wholes[k]);
    case data_type::uint8:
        return overwrite(t, at, static_cast<std::uint8_t>(wholes[k]));
    }
}

} // namespace

payload deep_copy(const payload& p, memory_pool& memory) {
    payload copy;
    for (const tensor& t : p)
        copy.push_back(copy_of(t, memory, t.type(), t.elements()));
    return copy;
}

std::vector<broken> broken_ones(const payload& p, memory_pool& memory, random_stream& random) {
    std::vector<broken> all;
    const auto with = [&](std::size_t i, tensor t) {
        payload changed = p;
        changed[i] = std::move(t);
        return changed;
    };
    if (!p.empty())
        all.push_back({"without tensors", {}, true});
    for (std::size_t i = 0; i < p.size(); ++i) {
        const tensor& t = p[i];
        const std::string name = "tensor " + std::to_string(i);
        payload fewer = p;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        all.push_back({name + " left out", std::move(fewer), i + 1 == p.size(), i});
        const data_type other =
            t.type() == data_type::uint8 ? data_type::float32 : data_type::uint8;
        all.push_back(
            {name + " of another type", with(i, copy_of(t, memory, other, t.elements())), true});
        for (const std::size_t size : {t.elements() + 1, t.elements() / 2, std::size_t{0}})
            all.push_back({name + " of " + std::to_string(size) + " instead of " +
                               std::to_string(t.elements()),
                           with(i, copy_of(t, memory, t.type(), size))});
        for (std::size_t k = 0; k < odd_numbers && t.elements() > 0; ++k) {
            tensor odd = copy_of(t, memory, t.type(), t.elements());
            const std::size_t at = random.below(t.elements());
            overwrite_oddly(odd, at, k);
            all.push_back(
                {name + " with odd number " + std::to_string(k) + " at " + std::to_string(at),
                 with(i, std::move(odd))});
        }
    }
    payload more = p;
    more.push_back(p.empty() ? scheduled::numbers_of<double>(memory, std::vector<double>{1}).value()
                             : p.front());
    all.push_back({"with a tensor too many", std::move(more)});
    return all;
}

} // namespace troupe::test
