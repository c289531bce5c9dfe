#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>

#include "tests/emulated_cuda/cudnn_descriptors.hpp"

namespace emulated {

namespace {

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

using sizes = std::array<std::int64_t, 4>;

float rounded_to_bf16(float x) {
    if (std::isnan(x))
        return x;
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return std::bit_cast<float>((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
}

template <class Work>
void for_each(const sizes& s, const Work& work) {
    for (std::int64_t a = 0; a < s[0]; ++a)
        for (std::int64_t b = 0; b < s[1]; ++b)
            for (std::int64_t c = 0; c < s[2]; ++c)
                for (std::int64_t d = 0; d < s[3]; ++d)
                    work(sizes{a, b, c, d});
}

struct graph_tensor {
    std::int64_t id;
    int type;
    sizes shape, strides;
    bool is_inner, is_by_value;

    explicit graph_tensor(const cudnn_descriptor& d)
        : id{one<std::int64_t>(d, CUDNN_ATTR_TENSOR_UNIQUE_ID)},
          type{one<int>(d, CUDNN_ATTR_TENSOR_DATA_TYPE)}, is_inner{flag(d, true)}, is_by_value{flag(
                                                                                       d, false)} {
        const auto four = [&](int name) {
            const auto values = all<std::int64_t>(d, name);
            TROUPE_CHECK(values.size() == 4, "tensors have four dimensions");
            return sizes{values[0], values[1], values[2], values[3]};
        };
        shape = four(CUDNN_ATTR_TENSOR_DIMENSIONS);
        strides = four(CUDNN_ATTR_TENSOR_STRIDES);
        TROUPE_CHECK(type != CUDNN_DATA_BFLOAT16 || shape[3] % 8 == 0 || is_inner ||
                         shape[2] % 8 == 0,
                     "heads are multiples of 8 wide");
    }
    static bool flag(const cudnn_descriptor& d, bool inner) {
        return one<std::byte>(d, inner ? CUDNN_ATTR_TENSOR_IS_VIRTUAL
                                       : CUDNN_ATTR_TENSOR_IS_BY_VALUE) != std::byte{};
    }
    std::size_t place(const sizes& at) const {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < 4; ++i)
            sum += (shape[i] == 1 ? 0 : at[i]) * strides[i];
        return static_cast<std::size_t>(sum);
    }
    std::size_t room() const {
        return place({shape[0] - 1, shape[1] - 1, shape[2] - 1, shape[3] - 1}) + 1;
    }
};

// The numbers of a tensor, as float32, where its strides say.
using numbers = std::vector<float>;

class computation {
  public:
    computation(const addresses& given, bool is_of_use) : given_{given}, is_of_use_{is_of_use} {}

    // What is given by value, while it lives.
    void take_values(const cudnn_descriptor& operation) {
        for (const int name : {CUDNN_ATTR_OPERATION_POINTWISE_BDESC})
            if (has(operation, name)) {
                const graph_tensor t{part(operation, name, CUDNN_BACKEND_TENSOR_DESCRIPTOR)};
                if (t.is_by_value)
                    known_[t.id] = {*static_cast<const float*>(given_.at(t.id))};
            }
    }
    void compute(const cudnn_descriptor& operation) {
        switch (operation.type) {
        case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
            return pointwise(operation);
        case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
            return multiply(operation);
        case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
            return reduce(operation);
        default:
            return reshape(operation);
        }
    }

  private:
    static graph_tensor tensor(const cudnn_descriptor& of, int name) {
        return graph_tensor{part(of, name, CUDNN_BACKEND_TENSOR_DESCRIPTOR)};
    }
    const numbers& read(const graph_tensor& t) {
        const auto [at, is_new] = known_.try_emplace(t.id);
        if (!is_new)
            return at->second;
        TROUPE_CHECK(!t.is_inner && given_.contains(t.id),
                     "tensors are computed before they are used");
        numbers& all = at->second;
        all.assign(t.room(), no_number);
        const void* const from = given_.at(t.id);
        for_each(t.shape, [&](const sizes& i) {
            const std::size_t p = t.place(i);
            all[p] = t.type == CUDNN_DATA_FLOAT ? static_cast<const float*>(from)[p]
                     : t.type == CUDNN_DATA_INT32
                         ? static_cast<float>(static_cast<const std::int32_t*>(from)[p])
                         : std::bit_cast<float>(
                               std::uint32_t{static_cast<const std::uint16_t*>(from)[p]} << 16);
        });
        return all;
    }
    void write(const graph_tensor& t, numbers all) {
        for (float& x : all) {
            if (!t.is_inner && !is_of_use_)
                x = no_number;
            if (t.type == CUDNN_DATA_BFLOAT16)
                x = rounded_to_bf16(x);
        }
        if (!t.is_inner)
            for_each(t.shape, [&](const sizes& i) {
                const std::size_t p = t.place(i);
                void* const to = given_.at(t.id);
                if (t.type == CUDNN_DATA_FLOAT)
                    static_cast<float*>(to)[p] = all[p];
                else
                    static_cast<std::uint16_t*>(to)[p] =
                        static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(all[p]) >> 16);
            });
        known_[t.id] = std::move(all);
    }

    void pointwise(const cudnn_descriptor& op);
    void multiply(const cudnn_descriptor& op);
    void reduce(const cudnn_descriptor& op);
    void reshape(const cudnn_descriptor& op);

    const addresses given_;
    const bool is_of_use_;
    std::map<std::int64_t, numbers> known_;
};

void computation::pointwise(const cudnn_descriptor& op) {
    const auto& how =
        part(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    const int mode = one<int>(how, CUDNN_ATTR_POINTWISE_MODE);
    const graph_tensor x = tensor(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
                       y = tensor(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    const bool has_b = has(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC),
               has_t = has(op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    const graph_tensor b = has_b ? tensor(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC) : x,
                       t = has_t ? tensor(op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC) : x;
    const std::size_t axis =
        mode == CUDNN_POINTWISE_GEN_INDEX
            ? static_cast<std::size_t>(one<std::int64_t>(how, CUDNN_ATTR_POINTWISE_AXIS))
            : 0;
    const numbers &xs = read(x), &bs = read(b), &ts = read(t);
    numbers ys(y.room(), no_number);
    for_each(y.shape, [&](const sizes& i) {
        const float u = xs[x.place(i)], v = bs[b.place(i)];
        ys[y.place(i)] = [&]() -> float {
            switch (mode) {
            case CUDNN_POINTWISE_ADD:
                return u + v;
            case CUDNN_POINTWISE_MUL:
                return u * v;
            case CUDNN_POINTWISE_DIV:
                return u / v;
            case CUDNN_POINTWISE_SUB:
                return u - v;
            case CUDNN_POINTWISE_EXP:
                return std::exp(u);
            case CUDNN_POINTWISE_LOG:
                return std::log(u);
            case CUDNN_POINTWISE_CMP_GE:
                return u >= v;
            case CUDNN_POINTWISE_CMP_LT:
                return u < v;
            case CUDNN_POINTWISE_LOGICAL_AND:
                return u != 0 && v != 0;
            case CUDNN_POINTWISE_GEN_INDEX:
                return static_cast<float>(i[axis]);
            default:
                TROUPE_CHECK(mode == CUDNN_POINTWISE_BINARY_SELECT && has_b && has_t,
                             "one of the operations that attention is made of");
                return ts[t.place(i)] != 0 ? u : v;
            }
        }();
    });
    write(y, std::move(ys));
}

void computation::multiply(const cudnn_descriptor& op) {
    const auto& how = part(op, CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    TROUPE_CHECK(one<int>(how, CUDNN_ATTR_MATMUL_COMP_TYPE) == CUDNN_DATA_FLOAT,
                 "sums are float32");
    const float behind = has(how, CUDNN_ATTR_MATMUL_PADDING_VALUE)
                             ? static_cast<float>(one<double>(how, CUDNN_ATTR_MATMUL_PADDING_VALUE))
                             : no_number;
    const graph_tensor a = tensor(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC),
                       b = tensor(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC),
                       c = tensor(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    TROUPE_CHECK(a.type == CUDNN_DATA_BFLOAT16 && b.type == CUDNN_DATA_BFLOAT16,
                 "factors are bfloat16");
    TROUPE_CHECK(a.shape[3] == b.shape[2] && c.shape[2] == a.shape[2] && c.shape[3] == b.shape[3] &&
                     a.shape[0] == c.shape[0] && a.shape[1] == c.shape[1] &&
                     b.shape[0] == c.shape[0] && b.shape[1] == c.shape[1],
                 "the factors' shapes fit");
    const auto length = [&](int name, std::int64_t sample, std::int64_t most) {
        if (!has(op, name))
            return most;
        const graph_tensor lengths = tensor(op, name);
        return static_cast<std::int64_t>(read(lengths)[lengths.place({sample, 0, 0, 0})]);
    };
    const numbers &as = read(a), &bs = read(b);
    numbers cs(c.room(), no_number);
    for_each(c.shape, [&](const sizes& i) {
        float sum = behind;
        if (i[2] < length(CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, i[0], c.shape[2]) &&
            i[3] < length(CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, i[0], c.shape[3])) {
            const auto end =
                length(CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, i[0], a.shape[3]);
            sum = 0;
            for (std::int64_t k = 0; k < end; ++k)
                sum += as[a.place({i[0], i[1], i[2], k})] * bs[b.place({i[0], i[1], k, i[3]})];
        }
        cs[c.place(i)] = sum;
    });
    write(c, std::move(cs));
}

void computation::reduce(const cudnn_descriptor& op) {
    const auto& how =
        part(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    const bool is_sum = one<int>(how, CUDNN_ATTR_REDUCTION_OPERATOR) == CUDNN_REDUCE_TENSOR_ADD;
    const graph_tensor x = tensor(op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC),
                       y = tensor(op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    const numbers& xs = read(x);
    numbers ys(y.room(), is_sum ? 0 : -std::numeric_limits<float>::infinity());
    for_each(x.shape, [&](const sizes& i) {
        float& to = ys[y.place(i)];
        const float from = xs[x.place(i)];
        to = is_sum ? to + from : std::fmax(to, from);
    });
    write(y, std::move(ys));
}

// The same numbers, as other strides say.
void computation::reshape(const cudnn_descriptor& op) {
    const graph_tensor x = tensor(op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC),
                       y = tensor(op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
    TROUPE_CHECK(x.room() == y.room(), "a reshape is of all numbers");
    write(y, read(x));
}

const cudnn_descriptor& first_product(const attention_graph& graph) {
    for (const auto* op : graph.operations)
        if (op->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
            return *op;
    TROUPE_CHECK(false, "attention has products");
    return *graph.operations[0];
}

} // namespace

attention_graph::attention_graph(const cudnn_descriptor& graph) {
    for (const auto d : all<cudnnBackendDescriptor_t>(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
        const auto& op = seen(d);
        TROUPE_CHECK(op.is_final && (op.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR ||
                                     op.type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR ||
                                     op.type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR ||
                                     op.type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR),
                     "attention is made of finished operations");
        operations.push_back(&op);
    }
    width();
    scores();
}

bool attention_graph::is_backward() const {
    for (const auto* op : operations)
        if (op->type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR)
            return true;
    return false;
}

std::vector<std::int64_t> attention_graph::scores() const {
    return all<std::int64_t>(part(first_product(*this), CUDNN_ATTR_OPERATION_MATMUL_CDESC,
                                  CUDNN_BACKEND_TENSOR_DESCRIPTOR),
                             CUDNN_ATTR_TENSOR_DIMENSIONS);
}

std::int64_t attention_graph::width() const {
    return graph_tensor{part(first_product(*this), CUDNN_ATTR_OPERATION_MATMUL_ADESC,
                             CUDNN_BACKEND_TENSOR_DESCRIPTOR)}
        .shape[3];
}

std::function<void()> attention_graph::work(const addresses& given, bool is_of_use) const {
    auto now = std::make_shared<computation>(given, is_of_use);
    for (const auto* op : operations)
        if (op->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
            now->take_values(*op);
    return [now, operations = operations] {
        computation fresh = *now; // a graph may be launched again
        for (const auto* op : operations)
            fresh.compute(*op);
    };
}

} // namespace emulated
