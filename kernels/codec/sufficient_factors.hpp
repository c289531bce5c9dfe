// Sufficient factors: the gradient of a linear layer's weight (outs, ins) is the product of its output's gradient (samples,
// outs) and its input (samples, ins). Where samples are few, the two are less to send than the product.
//
// Source: Xie, Kim, Zhou, Ho, Kumar, Yu and Xing 2014; the rule: Poseidon, Zhang et al. 2017.
#pragma once

#include "kernels/device/device.hpp"
#include "kernels/tensor/tensor.hpp"

namespace troupe {

// Who takes part: each worker broadcasts its factors to all others; or servers on the workers' nodes sum whole gradients.
struct factor_costs {
    std::uint64_t workers = 1;
    std::uint64_t servers = 1;
    std::uint64_t samples = 1; // of a worker's minibatch
};

// Numbers that a node sends and receives for a weight.
double numbers_of_factors(const factor_costs& costs, std::uint64_t outs, std::uint64_t ins);
double numbers_of_whole(const factor_costs& costs, std::uint64_t outs, std::uint64_t ins);
// 2 K (P1 - 1) (M + N) <= 2 M N (P1 + P2 - 2) / P2
bool factors_are_cheaper(const factor_costs& costs, std::uint64_t outs, std::uint64_t ins);

// Payload: float32, the output's gradient and then the input.
result<tensor> encode_factors(compute_context& context, const tensor& output_gradient,
                              const tensor& input);

// output = addend + factor * the weight's gradient, or without an addend; output may be the addend, and is (outs, ins).
// errc::protocol for a payload that is none of so many samples.
result<void> decode_factors(compute_context& context, const tensor& payload, std::size_t samples,
                            float factor, const tensor* addend, tensor& output);

} // namespace troupe
