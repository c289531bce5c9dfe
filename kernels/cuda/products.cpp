#include "kernels/cuda/products.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/cuda/columns.hpp"
#include "kernels/cuda/half_numbers.hpp"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/cuda/product_plan.hpp"
#include "kernels/cuda/status.hpp"
#include "schemas/base/check.hpp"

namespace troupe::cuda {

struct products::shape_key {
    std::size_t m, n, k, a_stride, b_stride, c_stride, batch, a_batch, b_batch, c_batch;
    bool a_transposed, b_transposed, has_bias;
    std::optional<pointwise> activation;
    bool has_pre_activation;
    precision numbers;

    auto operator<=>(const shape_key&) const = default;
};

products::products(memory_pool& memory) : memory_{memory} {}

products::~products() {
    plans_.clear();
    if (handle_ != nullptr)
        cublasLtDestroy(handle_);
}

result<const product_plan*> products::plan_of(const product& p) {
    const shape_key key{p.m,
                        p.n,
                        p.k,
                        p.a.stride,
                        p.b.stride,
                        p.c_stride,
                        p.batch,
                        p.a.batch_stride,
                        p.b.batch_stride,
                        p.c_batch_stride,
                        p.a.transposed,
                        p.b.transposed,
                        p.bias != nullptr,
                        p.activation,
                        p.pre_activation != nullptr,
                        p.numbers};
    const auto known = plans_.find(key);
    if (known != plans_.end())
        return known->second.get();
    if (handle_ == nullptr)
        if (auto made = checked(cublasLtCreate(&handle_)); !made)
            return made.failure();
    auto made = product_plan::make(handle_, p);
    if (!made)
        return made.failure();
    return plans_.emplace(key, std::move(*made)).first->second.get();
}

namespace {

// The elements that a matrix of so many rows and columns spans, with those between its rows.
std::size_t span_of(std::size_t rows, std::size_t columns, std::size_t stride, std::size_t batch,
                    std::size_t batch_stride) {
    return (batch - 1) * batch_stride + (rows - 1) * stride + columns;
}
std::size_t span_of(const rows_of_numbers& n) {
    return span_of(n.rows, n.columns, n.stride, n.matrices, n.matrix_stride);
}

// A factor as it lies.
rows_of_numbers numbers_of(const matrix& m, std::size_t rows, std::size_t columns,
                           std::size_t batch) {
    return {m.values,
            m.transposed ? columns : rows,
            m.transposed ? rows : columns,
            m.stride,
            batch,
            m.batch_stride};
}

// What cuBLASLt reads besides c: rounded where it should be, aligned. Holds what is made for it.
class operands {
  public:
    operands(memory_pool& memory, cudaStream_t stream) : memory_{memory}, stream_{stream} {}

    const void *a = nullptr, *b = nullptr, *bias = nullptr;
    const void *factor = nullptr, *beta = nullptr; // where the plan says: here or on the device

    result<void> take(const product& p, bool with_bias) {
        const auto of_a = numbers_of(p.a, p.m, p.k, p.batch);
        const auto of_b = numbers_of(p.b, p.k, p.n, p.batch);
        if (with_bias)
            if (auto done = put(bias, as_floats(p.bias, p.n)); !done)
                return done;
        if (p.numbers == precision::float16)
            return take_halves(p, of_a, of_b);
        factor = &p.factor;
        beta = &p.beta;
        const auto taken = [&](const rows_of_numbers& n) {
            return p.numbers == precision::bfloat16 ? as_bf16(n) : as_floats(n.first, span_of(n));
        };
        if (auto done = put(a, taken(of_a)); !done)
            return done;
        return put(b, taken(of_b));
    }

  private:
    static result<void> put(const void*& to, result<const void*> made) {
        if (!made)
            return made.failure();
        to = *made;
        return {};
    }

    template <class Number>
    result<Number*> scratch(std::size_t count) {
        auto made = memory_.allocate(count * sizeof(Number));
        if (!made)
            return made.failure();
        return reinterpret_cast<Number*>(kept_.emplace_back(std::move(*made))->data());
    }

    result<const void*> as_floats(const float* values, std::size_t count) {
        if (is_aligned(values))
            return static_cast<const void*>(values);
        return filled<float>(count, [&](float* to) {
            return cudaMemcpyAsync(to, values, count * sizeof(float), cudaMemcpyDefault, stream_);
        });
    }
    result<const void*> as_bf16(const rows_of_numbers& n) {
        return filled<std::uint16_t>(span_of(n), [&](std::uint16_t* to) {
            return round_to_bf16(n.first, to, span_of(n), stream_);
        });
    }
    result<const void*> as_f16(const rows_of_numbers& n, factor_place place,
                               const half_scales* scales) {
        return filled<std::uint16_t>(span_of(n), [&](std::uint16_t* to) {
            return scale_to_f16(n.first, place, scales, to, span_of(n), stream_);
        });
    }
    template <class Number, class Fill>
    result<const void*> filled(std::size_t count, Fill fill) {
        auto made = scratch<Number>(count);
        if (!made)
            return made.failure();
        if (auto done = checked(fill(*made)); !done)
            return done.failure();
        return static_cast<const void*>(*made);
    }

    result<void> take_halves(const product& p, const rows_of_numbers& of_a,
                             const rows_of_numbers& of_b) {
        auto made = scratch<half_scales>(1);
        if (!made)
            return made.failure();
        half_scales* const scales = *made;
        if (auto done = checked(cudaMemsetAsync(scales, 0, sizeof *scales, stream_)); !done)
            return done;
        if (auto done = checked(find_largest(of_a, &scales->largest[0], stream_)); !done)
            return done;
        if (auto done = checked(find_largest(of_b, &scales->largest[1], stream_)); !done)
            return done;
        if (auto done = put(a, as_f16(of_a, factor_place::first, scales)); !done)
            return done;
        if (auto done = put(b, as_f16(of_b, factor_place::second, scales)); !done)
            return done;
        factor = &scales->factor;
        beta = &scales->beta;
        return checked(take_back(scales, p.factor, p.beta, stream_));
    }

    memory_pool& memory_;
    cudaStream_t stream_;
    std::vector<buffer_ref> kept_;
};

// Where cuBLASLt writes: there, or, where that is not aligned, in memory of our own, from which it is copied there.
class target {
  public:
    target(float* to, std::size_t elements) : to_{to}, elements_{elements} {}

    float* at = nullptr;

    result<void> take(memory_pool& memory) {
        at = to_;
        if (is_aligned(to_))
            return {};
        auto made = memory.allocate(elements_ * sizeof(float));
        if (!made)
            return made.failure();
        kept_ = std::move(*made);
        at = reinterpret_cast<float*>(kept_->data());
        return {};
    }
    // What lies there so far.
    result<void> bring(cudaStream_t stream) const { return copy(to_, at, stream); }
    result<void> put_there(cudaStream_t stream) const { return copy(at, to_, stream); }

  private:
    result<void> copy(const float* from, float* to, cudaStream_t stream) const {
        if (from == to)
            return {};
        return checked(
            cudaMemcpyAsync(to, from, elements_ * sizeof(float), cudaMemcpyDefault, stream));
    }

    float* to_;
    std::size_t elements_;
    buffer_ref kept_;
};

} // namespace

result<void> products::operator()(const product& p, cudaStream_t stream) {
    TROUPE_CHECK(!p.activation || (p.beta == 0 && p.batch == 1 && p.c_stride == p.n),
                 "an activation is of the whole of c");
    auto known = plan_of(p);
    if (!known)
        return known.failure();
    const product_plan& how = **known;
    auto workspace = memory_.allocate(how.workspace_bytes);
    if (!workspace)
        return workspace.failure();
    operands of{memory_, stream};
    if (auto done = of.take(p, how.has_bias); !done)
        return done;
    // Where the activation comes behind, what it gets is what the product gives.
    float* const sums = p.pre_activation != nullptr && !how.has_copy ? p.pre_activation : p.c;
    const std::size_t elements = span_of(p.m, p.n, p.c_stride, p.batch, p.c_batch_stride);
    target c{sums, elements}, copied{how.has_copy ? p.pre_activation : nullptr, elements};
    if (auto done = c.take(memory_); !done)
        return done;
    if (auto done = copied.take(memory_); !done)
        return done;
    if (auto done = c.bring(stream); !done) // for beta, and what lies between its rows
        return done;
    if (auto done = how.point_at(of.bias, copied.at); !done)
        return done;
    if (auto done = checked(cublasLtMatmul(handle_, how.description, of.factor, of.b, how.first,
                                           of.a, how.second, of.beta, c.at, how.sum, c.at, how.sum,
                                           &how.algorithm, (*workspace)->data(),
                                           how.workspace_bytes, stream));
        !done)
        return done;
    if (p.bias != nullptr && !how.has_bias)
        for (std::size_t i = 0; i < p.batch; ++i)
            if (auto done = checked(add_to_rows(
                    {p.bias, p.m, p.n, p.c_stride, c.at + i * p.c_batch_stride}, stream));
                !done)
                return done;
    if (auto done = c.put_there(stream); !done)
        return done;
    if (auto done = copied.put_there(stream); !done)
        return done;
    if (p.activation && !how.has_activation)
        return checked(apply(*p.activation, sums, p.c, elements, stream));
    return {};
}

} // namespace troupe::cuda
