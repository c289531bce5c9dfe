// For operations with the parameters of a recurrent cell.
#pragma once

#include "kernels/ops/operand_check.hpp"
#include "kernels/ops/recurrent.hpp"

namespace troupe {

inline void check_optional(operand_check& check, std::string_view name, const tensor* t,
                           const tensor_shape& shape) {
    if (check.ok() && t != nullptr)
        check.is(name, *t, shape);
}

// Where the parameters themselves fit.
inline void check_recurrent_gradients(operand_check& check, const recurrent_gradients& g,
                                      const tensor& input, const recurrent_parameters& p) {
    if (g.input != nullptr)
        check.is("the gradient of input", *g.input, input.shape());
    check.is("the gradient of weight_ih", g.weight_ih, p.weight_ih.shape())
        .is("the gradient of weight_hh", g.weight_hh, p.weight_hh.shape())
        .is("the gradient of bias_ih", g.bias_ih, p.bias_ih.shape())
        .is("the gradient of bias_hh", g.bias_hh, p.bias_hh.shape());
    if (g.initial_state != nullptr)
        check.is("the gradient of initial_state", *g.initial_state,
                 {input.shape()[0], p.weight_hh.shape()[1]});
}

} // namespace troupe
