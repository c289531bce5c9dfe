#include "actors/collective/compressed_exchange.hpp"

#include <algorithm>

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

factor_layout factor_layout::of(const factor_codec& how, std::span<const tensor_shape> shapes,
                                std::size_t averages) {
    factor_layout layout;
    std::vector<tensor_shape> first;
    for (std::size_t t = 0; t < shapes.size(); ++t) {
        const auto factors = t < averages ? std::nullopt : how.factors_of(shapes[t]);
        first.push_back(factors ? factors->left : shapes[t]);
        layout.right_of.push_back(factors ? std::optional{layout.rights++} : std::nullopt);
        if (factors)
            layout.shapes.push_back(factors->right);
    }
    layout.shapes.insert(layout.shapes.end(), first.begin(), first.end());
    return layout;
}

std::size_t factor_layout::elements_of_step() const {
    std::size_t of[] = {0, 0};
    for (std::size_t s = 0; s < shapes.size(); ++s)
        of[s < rights] += shapes[s].elements();
    return std::max(of[0], of[1]);
}

payload_forms forms_of(const codec_ptr& how, std::size_t tensors, std::size_t averages) {
    payload_forms forms(tensors);
    if (how->factors() == nullptr)
        std::fill(forms.begin() + static_cast<std::ptrdiff_t>(averages), forms.end(), how);
    return forms;
}

std::uint64_t bytes_to_gather(const payload_forms& forms, std::span<const tensor_shape> shapes,
                              const rank_nodes& ranks) {
    std::uint64_t payloads = 0;
    std::size_t dense = 0;
    for (std::size_t t = 0; t < shapes.size(); ++t)
        if (forms[t])
            payloads += forms[t]->payload_bytes(shapes[t]);
        else
            dense += shapes[t].elements();
    const auto algorithm = choose(proto::AllReduceAlgorithm::AUTO, ranks, dense);
    return (ranks.ranks() - 1) * payloads +
           sizeof(float) * elements_sent_max(algorithm, ranks, dense);
}

std::string compressed_exchange::name() const {
    if (factors)
        return "all-reduce of factors by " + std::string{troupe::name_of(*factors)};
    return sparse ? "sparse all-reduce by " + std::string{name_of(*sparse)} : "all-gather";
}

compressed_exchange choose_exchange(const codec_ptr& how, std::span<const tensor_shape> shapes,
                                    std::size_t averages, const rank_nodes& ranks) {
    if (const factor_codec* const factors = how->factors()) {
        const auto layout = factor_layout::of(*factors, shapes, averages);
        const auto algorithm =
            choose(proto::AllReduceAlgorithm::AUTO, ranks, layout.elements_of_step());
        std::size_t elements = 0;
        for (const tensor_shape& shape : layout.shapes)
            elements += shape.elements();
        return {std::nullopt, algorithm,
                sizeof(float) * elements_sent_max(algorithm, ranks, elements)};
    }
    const sparse_layout layout = sparse_layout::of(*how, shapes, averages);
    if (layout.load.dimension > 0)
        if (const auto algorithm = choose_sparse(ranks.ranks(), layout.load))
            return {algorithm, std::nullopt, bytes_sent(*algorithm, ranks.ranks(), layout.load)};
    return {std::nullopt, std::nullopt,
            bytes_to_gather(forms_of(how, shapes.size(), averages), shapes, ranks)};
}

} // namespace troupe
