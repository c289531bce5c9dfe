#include "actors/collective/compressed_sum.hpp"

#include <algorithm>
#include <iterator>

#include "actors/collective/block_layout.hpp"
#include "kernels/codec/sufficient_factors.hpp"

namespace troupe {

sparse_layout sparse_layout::of(const codec& how, std::span<const tensor_shape> shapes,
                                std::size_t averages) {
    sparse_layout layout;
    for (std::size_t t = 0; t < shapes.size(); ++t) {
        const auto numbers = t < averages ? std::nullopt : how.sparse_numbers(shapes[t]);
        layout.is_sparse.push_back(numbers.has_value());
        (numbers ? layout.load.dimension : layout.load.dense) += shapes[t].elements();
        layout.load.numbers += numbers.value_or(0);
        if (numbers)
            layout.load.most += *how.values().count_in(how.payload_bytes(shapes[t]));
    }
    layout.load.values = how.values();
    return layout;
}

low_rank_layout low_rank_layout::of(const low_rank_factors& how,
                                    std::span<const tensor_shape> shapes, std::size_t averages) {
    low_rank_layout layout;
    std::vector<tensor_shape> first;
    for (std::size_t t = 0; t < shapes.size(); ++t) {
        const auto factors = t < averages ? std::nullopt : how.shapes_of(shapes[t]);
        first.push_back(factors ? factors->left : shapes[t]);
        layout.right_of.push_back(factors ? std::optional{layout.rights++} : std::nullopt);
        if (factors)
            layout.shapes.push_back(factors->right);
    }
    layout.shapes.insert(layout.shapes.end(), first.begin(), first.end());
    return layout;
}

std::size_t low_rank_layout::elements_of_step() const {
    std::size_t of[] = {0, 0};
    for (std::size_t s = 0; s < shapes.size(); ++s)
        of[s < rights] += shapes[s].elements();
    return std::max(of[0], of[1]);
}

std::string compressed_sum::name() const {
    if (low_rank)
        return "all-reduce of factors by " + std::string{troupe::name_of(*low_rank)};
    if (half)
        return "all-reduce in 16 bits by " + std::string{troupe::name_of(*half)};
    if (sparse)
        return "sparse all-reduce by " + std::string{name_of(*sparse)};
    return in_blocks ? "blocks summed and encoded again by their owners" : "all-gather";
}

std::size_t compressed_sum::gathered() const {
    return forms.size() - static_cast<std::size_t>(std::ranges::count(forms, nullptr));
}

namespace {

// The most bytes that the busiest rank sends in a dense all-reduce.
std::uint64_t bytes_of_dense(const rank_nodes& ranks, std::size_t elements) {
    const auto algorithm = choose(proto::AllReduceAlgorithm::AUTO, ranks, elements);
    return sizeof(float) * elements_sent_max(algorithm, ranks, elements);
}

// The sizes of a rank's payloads and other tensors.
struct payload_load {
    std::uint64_t payload_bytes = 0; // at most
    std::size_t numbers = 0;         // elements that the payloads stand for
    std::size_t dense = 0;           // elements of the other tensors

    static payload_load of(const payload_forms& forms, std::span<const tensor_shape> shapes) {
        payload_load load;
        for (std::size_t t = 0; t < shapes.size(); ++t) {
            load.payload_bytes += forms[t] ? forms[t]->payload_bytes(shapes[t]) : 0;
            (forms[t] ? load.numbers : load.dense) += shapes[t].elements();
        }
        return load;
    }
    std::uint64_t bytes_to_gather(std::uint32_t ranks) const { return (ranks - 1) * payload_bytes; }
};

// True if blocks are faster than all-gather, by rounds, bytes and sums, as dense algorithms are chosen; also if all-gather
// would send more bytes than uncompressed numbers take, and blocks send less than all-gather. Only the number of ranks
// counts, as not all who make this choice know the nodes.
bool blocks_are_better(const payload_load& load, const block_layout& blocks,
                       const reduce_costs& costs = measured_costs) {
    const std::uint32_t ranks = blocks.ranks();
    const std::uint64_t gathered = load.bytes_to_gather(ranks), in_blocks = blocks.bytes_sent_max();
    if (gathered > bytes_of_dense(ranks, load.numbers) && in_blocks < gathered)
        return true;
    const auto time_of = [&](double rounds, std::uint64_t bytes, double sums) {
        return rounds * costs.between_nodes.latency_ns +
               static_cast<double>(bytes) * costs.between_nodes.byte_ns +
               sums * sizeof(float) * static_cast<double>(load.numbers) * costs.add_byte_ns;
    };
    // Numbers that a rank processes: all ranks' payloads; or with blocks all ranks' payloads of one block, its sum, and the
    // sums of all blocks.
    return time_of(2, in_blocks, 2 + 1.0 / ranks) < time_of(1, gathered, ranks);
}

compressed_sum low_rank_sum(const compressed_gradients& g, const rank_nodes& ranks) {
    const auto layout = low_rank_layout::of(*g.codec->low_rank(), g.shapes, g.averages);
    const auto algorithm =
        choose(proto::AllReduceAlgorithm::AUTO, ranks, layout.elements_of_step());
    std::size_t elements = 0;
    for (const tensor_shape& shape : layout.shapes)
        elements += shape.elements();
    compressed_sum sum;
    sum.low_rank = algorithm;
    sum.forms.resize(g.shapes.size());
    sum.bytes = sizeof(float) * elements_sent_max(algorithm, ranks, elements);
    return sum;
}

// Chooses an all-reduce of the averages in float32 and of the parameters in 16 bits.
void sum_in_half(compressed_sum& sum, const compressed_gradients& g, const rank_nodes& ranks) {
    std::size_t averages = 0, parameters = 0;
    for (std::size_t t = 0; t < g.shapes.size(); ++t)
        (t < g.averages ? averages : parameters) += g.shapes[t].elements();
    sum.half = choose(g.algorithm, ranks, averages + parameters / 2); // by bytes
    sum.bytes = sizeof(float) * elements_sent_max(*sum.half, ranks, averages) +
                2 * elements_sent_max(*sum.half, ranks, parameters);
}

} // namespace

std::optional<compressed_sum> choose_compressed_sum(const compressed_gradients& g,
                                                    const rank_nodes& ranks) {
    if (g.codec && g.codec->low_rank())
        return low_rank_sum(g, ranks);
    compressed_sum sum;
    sum.forms.resize(g.averages); // not compressed
    if (g.sends_factors) {
        const auto parameters = std::span{g.shapes}.subspan(g.averages);
        std::ranges::copy(factors_to_ranks(parameters, g.factor_rows, g.samples_max, ranks.ranks()),
                          std::back_inserter(sum.forms));
    } else {
        sum.forms.resize(g.shapes.size(), g.codec);
    }
    if (sum.gathered() == 0)
        return std::nullopt;
    const bool is_less = ranks.ranks() > 2; // than an all-gather, which rounds once
    if (g.codec && g.codec->half() && (is_less || g.algorithm != proto::AllReduceAlgorithm::AUTO)) {
        sum_in_half(sum, g, ranks);
        return sum;
    }
    if (g.codec) {
        const sparse_load load = sparse_layout::of(*g.codec, g.shapes, g.averages).load;
        if (load.dimension > 0)
            sum.sparse = choose_sparse(ranks.ranks(), load);
        if (sum.sparse) {
            sum.bytes = bytes_sent(*sum.sparse, ranks.ranks(), load);
            return sum;
        }
    }
    const payload_load load = payload_load::of(sum.forms, g.shapes);
    sum.bytes = load.bytes_to_gather(ranks.ranks());
    if (g.codec && g.codec->blocks()) {
        const auto parameters = std::span{g.shapes}.subspan(g.averages);
        const auto blocks = block_layout::make(g.codec, parameters, ranks.ranks());
        sum.in_blocks = blocks_are_better(load, blocks);
        if (sum.in_blocks)
            sum.bytes = blocks.bytes_sent_max();
    }
    sum.bytes += bytes_of_dense(ranks, load.dense);
    return sum;
}

} // namespace troupe
