// Engines take graphs that look as they know them, so that the operations and their order are those of NVIDIA's front end.
#include "kernels/cuda/cudnn_attention.hpp"

#include <array>

namespace troupe::cuda {

using namespace dnn;

namespace {

using sizes = std::array<std::int64_t, 4>;

constexpr sizes row_major(const sizes& s) noexcept {
    return {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1};
}
constexpr sizes transposed(const sizes& s) noexcept {
    return {s[0], s[1], s[3], s[2]};
}

struct graph_tensor {
    cudnnBackendDescriptor_t descriptor;
    sizes shape, strides;
};

// Operations, each on tensors of those before it.
class operations_of_attention {
  public:
    operations_of_attention(cudnn_assembly& to, const attention_shape& shape)
        : to_{to}, shape_{shape}, scores_{shape.samples, shape.heads, shape.queries, shape.keys},
          rows_{shape.samples, shape.heads, shape.queries, 1} {}

    void add_forward();
    void add_backward();

    std::vector<cudnnBackendDescriptor_t> taken() { return std::move(operations_); }

  private:
    enum class kind : std::uint8_t { operand, by_value, inner };

    graph_tensor add_tensor(std::int64_t identifier, kind is, cudnnDataType_t type,
                            const sizes& shape, const sizes& strides) {
        const auto made = to_.add(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
        to_.set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, identifier);
        to_.set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
        to_.set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64,
                std::int64_t{cudnn_alignment});
        to_.set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64,
                std::span<const std::int64_t>{shape});
        to_.set(made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64,
                std::span<const std::int64_t>{strides});
        to_.set(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is == kind::inner);
        to_.set(made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, is == kind::by_value);
        to_.finish(made);
        return {made, shape, strides};
    }
    graph_tensor inner(cudnnDataType_t type, const sizes& shape, const sizes& strides) {
        return add_tensor(next_inner_++, kind::inner, type, shape, strides);
    }
    graph_tensor inner(cudnnDataType_t type, const sizes& shape) {
        return inner(type, shape, row_major(shape));
    }
    graph_tensor scores() { return inner(CUDNN_DATA_FLOAT, scores_); }
    graph_tensor sums() { return inner(CUDNN_DATA_FLOAT, rows_); }

    // Heads of queries, or of keys.
    graph_tensor heads(attention_operand which, std::int64_t positions, std::int64_t rows) {
        const sizes shape{shape_.samples, shape_.heads, positions, shape_.width};
        return add_tensor(
            identifier_of(which), kind::operand, CUDNN_DATA_BFLOAT16, shape,
            {shape_.heads * rows * shape_.width, rows * shape_.width, shape_.width, 1});
    }
    graph_tensor of_queries(attention_operand which) {
        return heads(which, shape_.queries, shape_.query_rows);
    }
    graph_tensor of_keys(attention_operand which) {
        return heads(which, shape_.keys, shape_.key_rows);
    }
    // With columns for rows.
    graph_tensor of_keys_transposed(attention_operand which) {
        const auto [s, h, positions, width] =
            sizes{shape_.samples, shape_.heads, shape_.keys, shape_.width};
        return add_tensor(identifier_of(which), kind::operand, CUDNN_DATA_BFLOAT16,
                          {s, h, width, positions},
                          {h * shape_.key_rows * width, shape_.key_rows * width, 1, width});
    }
    graph_tensor number_of_rows(attention_operand which) {
        return add_tensor(identifier_of(which), kind::operand, CUDNN_DATA_FLOAT, rows_,
                          row_major(rows_));
    }
    graph_tensor value(attention_operand which) {
        return add_tensor(identifier_of(which), kind::by_value, CUDNN_DATA_FLOAT, {1, 1, 1, 1},
                          {1, 1, 1, 1});
    }
    void add_lengths() {
        if (!shape_.has_lengths)
            return;
        const auto lengths = [&](attention_operand which) {
            return add_tensor(identifier_of(which), kind::operand, CUDNN_DATA_INT32,
                              {shape_.samples, 1, 1, 1}, {1, 1, 1, 1});
        };
        query_lengths_ = lengths(attention_query_lengths).descriptor;
        key_lengths_ = lengths(attention_key_lengths).descriptor;
    }

    void add(cudnnBackendDescriptor_t operation) {
        to_.finish(operation);
        operations_.push_back(operation);
    }
    void link(cudnnBackendDescriptor_t operation, cudnnBackendAttributeName_t name,
              cudnnBackendDescriptor_t part) {
        to_.set(operation, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, part);
    }

    // y = mode(x, b); `where` selects, `axis` is whose index is wanted.
    struct more {
        const graph_tensor* where = nullptr;
        std::int64_t axis = -1;
        cudnnDataType_t in = CUDNN_DATA_FLOAT; // computed
    };
    graph_tensor pointwise(cudnnPointwiseMode_t mode, const graph_tensor& x, const graph_tensor* b,
                           const graph_tensor& y, const more& with);
    graph_tensor pointwise(cudnnPointwiseMode_t mode, const graph_tensor& x, const graph_tensor* b,
                           const graph_tensor& y) {
        return pointwise(mode, x, b, y, {});
    }
    // The lengths of the dimensions in which a sample has less than there is room for.
    struct lengths {
        cudnnBackendDescriptor_t m = nullptr, n = nullptr, k = nullptr;
        bool zeros_behind = false;
    };
    graph_tensor product(const graph_tensor& a, const graph_tensor& b, const graph_tensor& c,
                         const lengths& of);
    graph_tensor reduce(cudnnReduceTensorOp_t with, const graph_tensor& x, const graph_tensor& y);
    graph_tensor reshape(const graph_tensor& x, const graph_tensor& y);

    graph_tensor index_along(const graph_tensor& scores, std::int64_t axis) {
        return pointwise(CUDNN_POINTWISE_GEN_INDEX, scores, nullptr,
                         inner(CUDNN_DATA_INT32, scores_), {.axis = axis, .in = CUDNN_DATA_INT32});
    }
    graph_tensor compared(cudnnPointwiseMode_t mode, const graph_tensor& x, const graph_tensor& b) {
        return pointwise(mode, x, &b, inner(CUDNN_DATA_BOOLEAN, scores_),
                         {.in = CUDNN_DATA_BOOLEAN});
    }
    // With the scores of what is not seen as they should be.
    graph_tensor masked(graph_tensor scores);

    cudnn_assembly& to_;
    const attention_shape& shape_;
    const sizes scores_, rows_;
    cudnnBackendDescriptor_t query_lengths_ = nullptr, key_lengths_ = nullptr;
    std::int64_t next_inner_ = first_inner_tensor;
    std::vector<cudnnBackendDescriptor_t> operations_;
};

graph_tensor operations_of_attention::pointwise(cudnnPointwiseMode_t mode, const graph_tensor& x,
                                                const graph_tensor* b, const graph_tensor& y,
                                                const more& with) {
    const auto how = to_.add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    to_.set(how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    to_.set(how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, with.in);
    if (with.axis >= 0)
        to_.set(how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, with.axis);
    to_.finish(how);
    const auto made = to_.add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    link(made, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    link(made, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x.descriptor);
    if (b != nullptr)
        link(made, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b->descriptor);
    if (with.where != nullptr)
        link(made, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, with.where->descriptor);
    link(made, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y.descriptor);
    add(made);
    return y;
}

graph_tensor operations_of_attention::product(const graph_tensor& a, const graph_tensor& b,
                                              const graph_tensor& c, const lengths& of) {
    const auto how = to_.add(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    to_.set(how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    if (shape_.has_lengths && of.zeros_behind)
        to_.set(how, CUDNN_ATTR_MATMUL_PADDING_VALUE, CUDNN_TYPE_DOUBLE, 0.0);
    to_.finish(how);
    const auto made = to_.add(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    link(made, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    link(made, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor);
    link(made, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor);
    link(made, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c.descriptor);
    if (of.m != nullptr)
        link(made, CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, of.m);
    if (of.n != nullptr)
        link(made, CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, of.n);
    if (of.k != nullptr)
        link(made, CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, of.k);
    add(made);
    return c;
}

graph_tensor operations_of_attention::reduce(cudnnReduceTensorOp_t with, const graph_tensor& x,
                                             const graph_tensor& y) {
    const auto how = to_.add(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    to_.set(how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, with);
    to_.set(how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    to_.finish(how);
    const auto made = to_.add(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    link(made, CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
    link(made, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x.descriptor);
    link(made, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y.descriptor);
    add(made);
    return y;
}

graph_tensor operations_of_attention::reshape(const graph_tensor& x, const graph_tensor& y) {
    const auto made = to_.add(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    link(made, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x.descriptor);
    link(made, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y.descriptor);
    add(made);
    return y;
}

graph_tensor operations_of_attention::masked(graph_tensor of) {
    if (!shape_.has_lengths && !shape_.causal)
        return of;
    const graph_tensor unseen = value(attention_unseen);
    const auto select = [&](const graph_tensor& seen) {
        of = pointwise(CUDNN_POINTWISE_BINARY_SELECT, of, &unseen, scores(), {.where = &seen});
    };
    if (shape_.has_lengths) {
        const graph_tensor query = index_along(of, 2), key = index_along(of, 3);
        const graph_tensor has_query =
            compared(CUDNN_POINTWISE_CMP_LT, query, {query_lengths_, {}, {}});
        const graph_tensor has_key = compared(CUDNN_POINTWISE_CMP_LT, key, {key_lengths_, {}, {}});
        select(compared(CUDNN_POINTWISE_LOGICAL_AND, has_query, has_key));
    }
    if (shape_.causal) {
        const graph_tensor query = index_along(of, 2), key = index_along(of, 3);
        select(compared(CUDNN_POINTWISE_CMP_GE, query, key));
    }
    return of;
}

void operations_of_attention::add_forward() {
    add_lengths();
    const graph_tensor scale = value(attention_scale);
    graph_tensor x =
        product(of_queries(attention_queries), of_keys_transposed(attention_keys), scores(),
                {.m = query_lengths_, .n = key_lengths_, .zeros_behind = true});
    x = masked(pointwise(CUDNN_POINTWISE_MUL, x, &scale, scores()));
    const graph_tensor largest = reduce(CUDNN_REDUCE_TENSOR_MAX, x, sums());
    x = pointwise(CUDNN_POINTWISE_SUB, x, &largest, scores());
    x = pointwise(CUDNN_POINTWISE_EXP, x, nullptr, scores());
    const graph_tensor sum = reduce(CUDNN_REDUCE_TENSOR_ADD, x, sums());
    const graph_tensor log_sum = pointwise(CUDNN_POINTWISE_LOG, sum, nullptr, sums());
    pointwise(CUDNN_POINTWISE_ADD, largest, &log_sum, number_of_rows(attention_log_sums));
    const graph_tensor shares =
        pointwise(CUDNN_POINTWISE_DIV, x, &sum, inner(CUDNN_DATA_BFLOAT16, scores_));
    product(shares, of_keys(attention_values), of_queries(attention_output),
            {.m = query_lengths_, .k = key_lengths_});
}

// The gradient of queries is the product of all of to_score, which is in memory for it. (To add up its parts as they come,
// NVIDIA's front end has a sum in float32 in between: what is added is in no order.)
void operations_of_attention::add_backward() {
    add_lengths();
    const lengths of_scores{.m = query_lengths_, .n = key_lengths_};
    const lengths of_rows{.m = query_lengths_, .k = key_lengths_};
    const lengths of_columns{.m = key_lengths_, .k = query_lengths_};
    const graph_tensor scale = value(attention_scale), one = value(attention_one);
    const graph_tensor queries = of_queries(attention_queries);
    const graph_tensor keys = of_keys_transposed(attention_keys);
    const graph_tensor gradient = of_queries(attention_output_gradient);
    const graph_tensor output = of_queries(attention_output);
    const graph_tensor log_sums = number_of_rows(attention_log_sums);
    const auto turned = [&](const graph_tensor& x) {
        return reshape(x, inner(CUDNN_DATA_BFLOAT16, transposed(scores_),
                                {x.strides[0], x.strides[1], x.strides[3], x.strides[2]}));
    };
    graph_tensor x =
        pointwise(CUDNN_POINTWISE_MUL, gradient, &output, inner(CUDNN_DATA_FLOAT, queries.shape));
    x = reduce(CUDNN_REDUCE_TENSOR_ADD, x, sums());
    const graph_tensor means =
        pointwise(CUDNN_POINTWISE_MUL, x, &one, number_of_rows(attention_means));

    x = product(queries, keys, scores(), of_scores);
    x = pointwise(CUDNN_POINTWISE_MUL, x, &scale, scores());
    x = masked(pointwise(CUDNN_POINTWISE_SUB, x, &log_sums, scores()));
    const graph_tensor shares = pointwise(CUDNN_POINTWISE_EXP, x, nullptr, scores());
    product(turned(shares), gradient, of_keys(attention_value_gradient), of_columns);

    x = product(gradient, of_keys_transposed(attention_values), scores(), of_scores);
    x = pointwise(CUDNN_POINTWISE_SUB, x, &means, scores());
    x = pointwise(CUDNN_POINTWISE_MUL, x, &shares, scores());
    const graph_tensor to_score =
        pointwise(CUDNN_POINTWISE_MUL, x, &scale, inner(CUDNN_DATA_BFLOAT16, scores_));
    product(turned(to_score), queries, of_keys(attention_key_gradient), of_columns);
    const graph_tensor key_rows =
        reshape(keys, inner(CUDNN_DATA_BFLOAT16, transposed(keys.shape),
                            {keys.strides[0], keys.strides[1], keys.strides[3], keys.strides[2]}));
    product(to_score, key_rows, of_queries(attention_query_gradient), of_rows);
}

} // namespace

cudnn_graph graph_of(const functions& cudnn, const attention_shape& shape) {
    cudnn_graph made{cudnn_descriptors{cudnn}, {}};
    cudnn_assembly to{cudnn, made.parts};
    operations_of_attention operations{to, shape};
    shape.is_backward ? operations.add_backward() : operations.add_forward();
    if (to.succeeded())
        made.operations = operations.taken();
    return made;
}

// Engines do not say whether they add up gradients of queries in the order in which blocks come by. Of those that were
// offered the ones that do not had to_score in memory, as bfloat16.
engine_rules rules_of(const attention_shape& shape) noexcept {
    engine_rules rules{.may_round = true, .may_compile = true, .workspace_max = 32u << 20};
    if (shape.is_backward) {
        rules.workspace_min =
            static_cast<std::size_t>(shape.samples * shape.heads * shape.queries * shape.keys) * 2;
        rules.workspace_max = std::size_t{1} << 30;
    }
    return rules;
}

} // namespace troupe::cuda
