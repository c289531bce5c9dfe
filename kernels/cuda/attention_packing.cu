#include "kernels/cuda/attention_cores.hpp"
#include "kernels/cuda/bf16.hpp"
#include "kernels/cuda/indices.hpp"
#include "kernels/cuda/map.hpp"

namespace troupe::cuda {

namespace {

constexpr unsigned numbers_of_thread = sizeof(uint4) / sizeof(__nv_bfloat16);

__device__ unsigned two_numbers(float low, float high) {
    return std::uint32_t{bf16_bits(high)} << 16 | bf16_bits(low);
}

template <class Index>
struct packing {
    attention_sizes n;
    sequence_columns<const float> from;
    bool are_keys;
    divisor<Index> parts_of_row, positions, heads; // those of `to`
    uint4* to;

    __device__ void operator()(std::size_t i) const {
        const auto row = parts_of_row.divide(static_cast<Index>(i));
        const auto head_row = positions.divide(row.quotient);
        const auto head = heads.divide(head_row.quotient);
        const std::size_t sample = head.quotient, position = head_row.remainder;
        const std::size_t column = std::size_t{row.remainder} * numbers_of_thread;
        neighbours<numbers_of_thread> x{};
        if (position < (are_keys ? n.length(sample) : from.positions) && column < n.width)
            x = load<numbers_of_thread>(from.values +
                                            (sample * from.positions + position) * from.stride +
                                            head.remainder * n.width + column,
                                        n.width - column);
        to[i] = make_uint4(two_numbers(x.at[0], x.at[1]), two_numbers(x.at[2], x.at[3]),
                           two_numbers(x.at[4], x.at[5]), two_numbers(x.at[6], x.at[7]));
    }
};

} // namespace

result<made_heads> pack_heads(execution& run, const attention_sizes& n, const columns& from,
                              head_rows rows) {
    const auto source = columns_of(from);
    const std::size_t positions = packed_positions(source.positions);
    const std::size_t width = packed_width(n.width);
    const std::size_t parts = n.samples * n.heads * positions * width / numbers_of_thread;
    auto memory = run.scratch(parts * sizeof(uint4));
    if (!memory)
        return memory.failure();
    uint4* const to = reinterpret_cast<uint4*>((*memory)->data());
    const auto status = with_index({parts}, [&](auto index) {
        using index_type = decltype(index);
        return launch_elements(run.stream(), parts,
                               packing<index_type>{n, source, rows == head_rows::keys,
                                                   divisor<index_type>{width / numbers_of_thread},
                                                   divisor<index_type>{positions},
                                                   divisor<index_type>{n.heads}, to});
    });
    if (auto done = checked(status, {&from.of}); !done)
        return done.failure();
    return made_heads{
        std::move(*memory),
        {reinterpret_cast<const __nv_bfloat16*>(to), positions, static_cast<unsigned>(width)}};
}

} // namespace troupe::cuda
