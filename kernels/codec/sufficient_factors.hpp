// Sufficient factors: the gradient of a linear layer's weight (outs, ins) is the product of its output's gradient (rows,
// outs) and its input (rows, ins), rows being the samples or their positions. With few rows the factors are smaller than the
// product. Payload: float32 (rows, outs + ins), where each row has the output's gradient and then the input. Factors of
// several parts of a minibatch are concatenated.
//
// Source: Xie, Kim, Zhou, Ho, Kumar, Yu and Xing 2014; the rule: Poseidon, Zhang et al. 2017.
#pragma once

#include <span>

#include "kernels/codec/payload_form.hpp"

namespace troupe {

// The two ways to sum a gradient: each worker broadcasts its factors to all others; or servers on the workers' nodes sum
// whole gradients. With as many servers as workers the latter sends as much as a ring of the workers.
struct factor_costs {
    std::uint64_t workers = 1;
    std::uint64_t servers = 1;
    std::uint64_t rows = 1; // in a worker's minibatch
};

// The numbers that a node sends and receives for a weight, by either way.
double numbers_of_factors(const factor_costs& costs, std::uint64_t outs, std::uint64_t ins);
double numbers_of_whole(const factor_costs& costs, std::uint64_t outs, std::uint64_t ins);
// 2 K (P1 - 1) (M + N) <= 2 M N (P1 + P2 - 2) / P2
bool factors_are_cheaper(const factor_costs& costs, std::uint64_t outs, std::uint64_t ins);

// The factors of a weight's gradient, which layers make in its place (stage_program::backward), with up to `rows_max` rows.
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

// Selects, among tensors with factor_rows (parameter_info), those whose factors, for minibatches of up to `samples_max`
// samples, are fewer numbers to send than the whole gradient in an all-reduce of `ranks` ranks.
payload_forms factors_to_ranks(std::span<const tensor_shape> shapes,
                               std::span<const std::size_t> factor_rows, std::size_t samples_max,
                               std::uint32_t ranks);
// Selects those whose factors are fewer numbers than the whole gradient: for a server, which sends whole weights back either
// way, K (M + N) <= M N. Source: Project Adam, Chilimbi, Suzue, Apacible and Kalyanaraman 2014.
payload_forms factors_to_server(std::span<const tensor_shape> shapes,
                                std::span<const std::size_t> factor_rows, std::size_t samples_max);

} // namespace troupe
