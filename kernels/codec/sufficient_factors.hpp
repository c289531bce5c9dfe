// Sufficient factors: the gradient of a linear layer's weight (outs, ins) is the product of its output's gradient (rows,
// outs) and its input (rows, ins), rows being the samples or their positions. Where rows are few, the two are less to send
// than the product: float32 (rows, outs + ins), of each row the output's gradient and then the input. Factors of several
// parts of a minibatch are one behind another.
//
// Source: Xie, Kim, Zhou, Ho, Kumar, Yu and Xing 2014; the rule: Poseidon, Zhang et al. 2017.
#pragma once

#include <span>

#include "kernels/codec/payload_form.hpp"

namespace troupe {

// Who takes part: each worker broadcasts its factors to all others; or servers on the workers' nodes sum whole gradients.
// With as many servers as workers they send as much as a ring of these.
struct factor_costs {
    std::uint64_t workers = 1;
    std::uint64_t servers = 1;
    std::uint64_t rows = 1; // of a worker's minibatch
};

// Numbers that a node sends and receives for a weight.
double numbers_of_factors(const factor_costs& costs, std::uint64_t outs, std::uint64_t ins);
double numbers_of_whole(const factor_costs& costs, std::uint64_t outs, std::uint64_t ins);
// 2 K (P1 - 1) (M + N) <= 2 M N (P1 + P2 - 2) / P2
bool factors_are_cheaper(const factor_costs& costs, std::uint64_t outs, std::uint64_t ins);

// The factors of a weight's gradient, which layers give in its place (stage_program::backward). Up to so many rows.
class sufficient_factors final : public payload_form {
  public:
    explicit sufficient_factors(std::size_t rows_max) : rows_max_{rows_max} {}

    std::uint64_t payload_bytes(const tensor_shape& shape) const override; // at most
    result<void> check(const tensor_shape& shape, const tensor& payload) const override;
    result<void> decode(compute_context& context, const tensor& payload, float factor,
                        const tensor* addend, tensor& output) const override;

  private:
    std::size_t rows_max_;
};

// Of tensors with factor_rows (parameter_info) those whose factors, of minibatches of up to so many samples, are less than
// what an all-reduce by so many ranks sends of the whole.
payload_forms factors_to_peers(std::span<const tensor_shape> shapes,
                               std::span<const std::size_t> factor_rows, std::size_t samples_max,
                               std::uint32_t ranks);
// Those that are less than the whole: for a server, which sends whole weights back either way, K (M + N) <= M N. Source:
// Project Adam, Chilimbi, Suzue, Apacible and Kalyanaraman 2014.
payload_forms factors_to_server(std::span<const tensor_shape> shapes,
                                std::span<const std::size_t> factor_rows, std::size_t samples_max);

} // namespace troupe
