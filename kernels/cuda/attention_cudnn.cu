// Attention by cuDNN: its factors are packed as for tensor cores, and what it gives is unpacked.
#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "kernels/cuda/attention_cores.hpp"
#include "kernels/cuda/indices.hpp"
#include "kernels/cuda/map.hpp"

namespace troupe::cuda {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

constexpr unsigned numbers_of_thread = sizeof(uint4) / sizeof(__nv_bfloat16);

// On the way back lengths are always given where nothing else hides keys: without them cuDNN has read keys behind the last
// one for sm_90 (pytorch/pytorch, issue 196678).
attention_shape shape_of(const attention_sizes& n, bool is_backward) {
    const auto size = [](std::size_t of) { return static_cast<std::int64_t>(of); };
    return {.is_backward = is_backward,
            .samples = size(n.samples),
            .heads = size(n.heads),
            .queries = size(n.queries),
            .keys = size(n.keys),
            .width = size(packed_width(n.width)),
            .query_rows = size(packed_positions(n.queries)),
            .key_rows = size(packed_positions(n.keys)),
            .causal = n.causal,
            .has_lengths = n.key_lengths != nullptr || (is_backward && !n.causal)};
}

// Indices of tensors are of 32 bits in many an engine.
bool is_asked_for(const attention_shape& s) {
    const std::int64_t rows = std::max(s.query_rows, s.key_rows);
    return s.queries > 1 &&
           s.samples * s.heads * rows * s.width <= std::numeric_limits<std::int32_t>::max();
}

// The numbers of packed heads, as columns of a tensor, a few of a row by each thread.
template <class Index>
struct unpacking {
    attention_sizes n;
    packed_heads from;
    sequence_columns<float> to;
    bool are_keys;                                 // those that nobody sees have 0
    divisor<Index> parts_of_row, heads, positions; // those of `to`

    __device__ void operator()(std::size_t i) const {
        const auto row = parts_of_row.divide(static_cast<Index>(i));
        const auto head = heads.divide(row.quotient);
        const auto place = positions.divide(head.quotient);
        const std::size_t sample = place.quotient, position = place.remainder;
        const std::size_t column = std::size_t{row.remainder} * numbers_of_thread;
        neighbours<numbers_of_thread> x{};
        if (!are_keys || position < n.length(sample, false)) {
            const packed_rows rows = from.rows(n, sample, head.remainder, position);
            const uint4 some = *reinterpret_cast<const uint4*>(rows.first + column);
            const unsigned twos[] = {some.x, some.y, some.z, some.w};
#pragma unroll
            for (unsigned k = 0; k < numbers_of_thread; k += 2) {
                x.at[k] = __uint_as_float(twos[k / 2] << 16);
                x.at[k + 1] = __uint_as_float(twos[k / 2] & 0xffff0000u);
            }
        }
        store<numbers_of_thread>(to.values + (sample * to.positions + position) * to.stride +
                                     head.remainder * n.width + column,
                                 n.width - column, x);
    }
};

// Lengths of each sample.
struct lengths_for_cudnn {
    attention_sizes n;
    std::int32_t* queries;
    std::int32_t* keys;

    __device__ void operator()(std::size_t sample) const {
        queries[sample] = static_cast<std::int32_t>(n.queries);
        keys[sample] = static_cast<std::int32_t>(n.length(sample, true));
    }
};

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> unpack_heads(execution& run, const attention_sizes& n, const packed_heads& from,
                          const mutable_columns& to, head_rows rows) {
    const auto places = columns_of(to);
    const std::size_t parts_of_row = (n.width + numbers_of_thread - 1) / numbers_of_thread;
    const std::size_t parts = n.samples * places.positions * n.heads * parts_of_row;
    return checked(with_index({parts},
                              [&](auto index) {
                                  using index_type = decltype(index);
                                  return launch_elements(
                                      run.stream(), parts,
                                      unpacking<index_type>{n, from, places,
                                                            rows == head_rows::keys,
                                                            divisor<index_type>{parts_of_row},
                                                            divisor<index_type>{n.heads},
                                                            divisor<index_type>{places.positions}});
                              }),
                   {&to.of});
}

// Attention of some shape: its operands, and memory for them until they are in the stream.
class packed_operands {
  public:
    packed_operands(const attention_sizes& n, execution& run) : n_{n}, run_{run} {}

    void pack(attention_operand which, const columns& from, head_rows rows) {
        if (failure_)
            return;
        if (auto made = pack_heads(run_, n_, from, rows))
            keep(which, std::move(made->memory));
        else
            failure_.emplace(made.failure());
    }
    // Room for what comes out.
    void make(attention_operand which, std::size_t bytes) {
        if (failure_)
            return;
        if (auto made = run_.scratch(bytes))
            keep(which, std::move(*made));
        else
            failure_.emplace(made.failure());
    }
    void make_heads(attention_operand which, head_rows rows) { make(which, heads_bytes(n_, rows)); }
    // As they are, or a copy of them.
    void lend(attention_operand which, const tensor& t) {
        places_[which] = const_cast<std::byte*>(t.data()); // whoever computes it may write
        if (reinterpret_cast<std::uintptr_t>(t.data()) % cudnn_alignment == 0)
            return;
        make(which, t.bytes());
        if (!failure_)
            note(checked(cudaMemcpyAsync(places_[which], t.data(), t.bytes(), cudaMemcpyDefault,
                                         run_.stream())));
    }
    void make_lengths(const attention_shape& shape) {
        if (!shape.has_lengths)
            return;
        make(attention_query_lengths, n_.samples * sizeof(std::int32_t));
        make(attention_key_lengths, n_.samples * sizeof(std::int32_t));
        if (!failure_)
            note(checked(launch_elements(
                run_.stream(), n_.samples,
                lengths_for_cudnn{n_, static_cast<std::int32_t*>(places_[attention_query_lengths]),
                                  static_cast<std::int32_t*>(places_[attention_key_lengths])})));
    }
    result<bool> attend(const attention_shape& shape, std::initializer_list<const tensor*> of) {
        if (failure_)
            return *failure_;
        float scale = n_.scale, unseen = -std::numeric_limits<float>::infinity(), one = 1;
        places_[attention_scale] = &scale;
        if (shape.causal || shape.has_lengths)
            places_[attention_unseen] = &unseen;
        if (shape.is_backward)
            places_[attention_one] = &one;
        return run_.by_cudnn().attend(shape, places_, run_, of);
    }
    result<void> unpack(attention_operand which, const mutable_columns& to, head_rows rows) {
        const std::size_t positions = rows == head_rows::keys ? n_.keys : n_.queries;
        const packed_heads from{static_cast<const __nv_bfloat16*>(places_[which]),
                                packed_positions(positions),
                                static_cast<unsigned>(packed_width(n_.width))};
        return unpack_heads(run_, n_, from, to, rows);
    }
    result<void> bring_back(attention_operand which, tensor& t) {
        if (places_[which] == t.data())
            return {};
        return checked(cudaMemcpyAsync(t.mutable_data(), places_[which], t.bytes(),
                                       cudaMemcpyDefault, run_.stream()));
    }

  private:
    void note(const result<void>& done) {
        if (!done)
            failure_.emplace(done.failure());
    }
    void keep(attention_operand which, buffer_ref memory) {
        places_[which] = memory->data();
        kept_.push_back(std::move(memory));
    }

    const attention_sizes& n_;
    execution& run_;
    cudnn::attention_places places_{};
    std::vector<buffer_ref> kept_;
    std::optional<error> failure_; // the first
};

} // namespace

result<bool> attend_by_cudnn(const attention_forward& op, const attention_sizes& n,
                             execution& run) {
    const attention_shape shape = shape_of(n, false);
    if (!is_asked_for(shape) || !run.by_cudnn().takes(shape))
        return false;
    packed_operands operands{n, run};
    operands.make_lengths(shape);
    operands.pack(attention_queries, op.queries, head_rows::queries);
    operands.pack(attention_keys, op.keys, head_rows::keys);
    operands.pack(attention_values, op.values, head_rows::keys);
    operands.make_heads(attention_output, head_rows::queries);
    operands.lend(attention_log_sums, op.log_sums);
    if (auto taken = operands.attend(shape, {&op.queries.of, &op.keys.of}); !taken || !*taken)
        return taken;
    if (auto done = operands.bring_back(attention_log_sums, op.log_sums); !done)
        return done.failure();
    const auto done = operands.unpack(attention_output, {op.output}, head_rows::queries);
    return done ? result<bool>{true} : done.failure();
}

result<bool> attend_back_by_cudnn(const attention_backward& op, const attention_sizes& n,
                                  execution& run) {
    const attention_shape shape = shape_of(n, true);
    if (!is_asked_for(shape) || !run.by_cudnn().takes(shape))
        return false;
    packed_operands operands{n, run};
    operands.make_lengths(shape);
    operands.pack(attention_queries, op.queries, head_rows::queries);
    operands.pack(attention_keys, op.keys, head_rows::keys);
    operands.pack(attention_values, op.values, head_rows::keys);
    operands.pack(attention_output, {op.output}, head_rows::queries);
    operands.pack(attention_output_gradient, {op.output_gradient}, head_rows::queries);
    operands.lend(attention_log_sums, op.log_sums);
    operands.make(attention_means, op.log_sums.bytes());
    operands.make_heads(attention_query_gradient, head_rows::queries);
    operands.make_heads(attention_key_gradient, head_rows::keys);
    operands.make_heads(attention_value_gradient, head_rows::keys);
    if (auto taken = operands.attend(shape, {&op.queries.of, &op.keys.of}); !taken || !*taken)
        return taken;
    for (const auto& [from, to, rows] :
         {std::tuple{attention_query_gradient, &op.query_gradient, head_rows::queries},
          std::tuple{attention_key_gradient, &op.key_gradient, head_rows::keys},
          std::tuple{attention_value_gradient, &op.value_gradient, head_rows::keys}})
        if (auto done = operands.unpack(from, *to, rows); !done)
            return done.failure();
    return true;
}

} // namespace troupe::cuda
