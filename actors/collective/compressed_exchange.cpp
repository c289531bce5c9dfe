#include "actors/collective/compressed_exchange.hpp"

namespace troupe {

sparse_layout sparse_layout::of(const codec& how, std::span<const tensor_shape> shapes,
                                std::size_t averages) {
    sparse_layout layout;
    for (std::size_t t = 0; t < shapes.size(); ++t) {
        const auto numbers = t < averages ? std::nullopt : how.sparse_numbers(shapes[t]);
        layout.is_sparse.push_back(numbers.has_value());
        (numbers ? layout.load.dimension : layout.load.dense) += shapes[t].elements();
        layout.load.numbers += numbers.value_or(0);
    }
    return layout;
}

std::string compressed_exchange::name() const {
    return sparse ? "sparse all-reduce by " + std::string{name_of(*sparse)} : "all-gather";
}

compressed_exchange choose_exchange(const codec& how, std::span<const tensor_shape> shapes,
                                    std::size_t averages, std::uint32_t ranks) {
    const sparse_layout layout = sparse_layout::of(how, shapes, averages);
    if (layout.load.dimension > 0)
        if (const auto algorithm = choose_sparse(ranks, layout.load))
            return {algorithm, bytes_sent(*algorithm, ranks, layout.load)};
    std::uint64_t payloads = 0;
    for (std::size_t t = 0; t < shapes.size(); ++t)
        payloads +=
            t < averages ? sizeof(float) * shapes[t].elements() : how.payload_bytes(shapes[t]);
    return {std::nullopt, (ranks - 1) * payloads};
}

} // namespace troupe
