#include "kernels/cuda/cudnn_convolution.hpp"

namespace troupe::cuda {

using namespace dnn;

namespace {

// The attributes of an operation, by direction.
struct operation_attributes {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t alpha, beta, convolution;
    std::array<cudnnBackendAttributeName_t, conv_tensors> tensors; // as conv_tensor
};
constexpr std::array<operation_attributes, 3> operations{{
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY}},
}};

cudnnBackendDescriptor_t add_tensor(cudnn_assembly& to, std::size_t which,
                                    const std::array<std::int64_t, 4>& shape) {
    const std::array<std::int64_t, 4> strides{shape[1] * shape[2] * shape[3], shape[2] * shape[3],
                                              shape[3], 1};
    const auto made = to.add(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    to.set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, identifier_of(which));
    to.set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    to.set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::int64_t{cudnn_alignment});
    to.set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64,
           std::span<const std::int64_t>{shape});
    to.set(made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64,
           std::span<const std::int64_t>{strides});
    to.finish(made);
    return made;
}

cudnnBackendDescriptor_t add_convolution(cudnn_assembly& to, const conv_shape& shape) {
    const std::array<std::int64_t, 2> ones{1, 1}, strides{shape.stride, shape.stride},
        paddings{shape.padding, shape.padding};
    const auto made = to.add(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const auto set_both = [&](cudnnBackendAttributeName_t name,
                              const std::array<std::int64_t, 2>& both) {
        to.set(made, name, CUDNN_TYPE_INT64, std::span<const std::int64_t>{both});
    };
    to.set(made, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2});
    to.set(made, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    to.set(made, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
           CUDNN_CROSS_CORRELATION);
    set_both(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, paddings);
    set_both(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, paddings);
    set_both(CUDNN_ATTR_CONVOLUTION_DILATIONS, ones);
    set_both(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides);
    to.finish(made);
    return made;
}

} // namespace

cudnn_graph graph_of(const functions& cudnn, const conv_shape& shape) {
    cudnn_graph made{cudnn_descriptors{cudnn}, {}};
    cudnn_assembly to{cudnn, made.parts};
    const auto& names = operations[static_cast<std::size_t>(shape.direction)];
    const auto operation = to.add(names.type);
    to.set(operation, names.alpha, CUDNN_TYPE_FLOAT, 1.f);
    to.set(operation, names.beta, CUDNN_TYPE_FLOAT, 0.f);
    to.set(operation, names.convolution, CUDNN_TYPE_BACKEND_DESCRIPTOR, add_convolution(to, shape));
    for (std::size_t t = 0; t < conv_tensors; ++t)
        to.set(operation, names.tensors[t], CUDNN_TYPE_BACKEND_DESCRIPTOR,
               add_tensor(to, t, shape.tensors[t]));
    to.finish(operation);
    if (to.succeeded())
        made.operations = {operation};
    return made;
}

// Scratch memory of as much as the operands hold, which an engine may reorder, and a little more.
engine_rules rules_of(const conv_shape& shape) noexcept {
    engine_rules rules{.may_round = shape.may_round, .workspace_max = 32u << 20};
    for (const auto& [a, b, c, d] : shape.tensors)
        rules.workspace_max += static_cast<std::size_t>(a * b * c * d) * sizeof(float);
    return rules;
}

} // namespace troupe::cuda
