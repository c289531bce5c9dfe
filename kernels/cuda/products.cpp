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
#include "kernels/cuda/row_copies.hpp"
#include "kernels/cuda/status.hpp"
#include "schemas/base/check.hpp"

namespace troupe::cuda {

// The form of a product: all of it that a plan depends on.
struct products::shape_key {
    struct layout {
        std::size_t stride, batch_stride;
        bool transposed;

        auto operator<=>(const layout&) const = default;
    };
    // Its end, behind the sums.
    struct ending {
        bool has_bias;
        std::optional<pointwise> activation;
        bool has_pre_activation;

        auto operator<=>(const ending&) const = default;
    };

    std::size_t m, n, k, batch;
    layout a, b, c;
    ending end;
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
    const shape_key key{
        .m = p.m,
        .n = p.n,
        .k = p.k,
        .batch = p.batch,
        .a = {p.a.stride, p.a.batch_stride, p.a.transposed},
        .b = {p.b.stride, p.b.batch_stride, p.b.transposed},
        .c = {p.c_stride, p.c_batch_stride, false},
        .end = {p.bias != nullptr, p.activation, p.pre_activation != nullptr},
        .numbers = p.numbers,
    };
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

constexpr std::size_t next_multiple(std::size_t n, std::size_t of) {
    return (n + of - 1) / of * of;
}

// From so many elements on, c is computed in rows of our own where its own begin at odd addresses, and rows of factors get
// zeros behind them: the copy takes less time than cuBLASLt loses.
constexpr std::size_t padded_elements_min = 1 << 16;

// p as cuBLASLt gets it: rows of 16-bit factors, which are copied anyway, and those of a large c begin at multiples of 16
// bytes, and hold as many numbers. Else products take six times as long (README.md). Where n or k is larger than p's, the
// factors have zeros there, and columns of c are not looked at.
product laid_out(const product& p) {
    const bool is_copied = p.numbers == precision::bfloat16 || p.numbers == precision::float16;
    if (!is_copied || p.batch != 1)
        return p;
    product laid = p;
    const auto align = [](matrix& factor, std::size_t rows, std::size_t columns) {
        const std::size_t of_row = factor.transposed ? rows : columns;
        if (factor.stride % numbers_of_16_bytes != 0)
            factor.stride = next_multiple(of_row, numbers_of_16_bytes);
    };
    align(laid.a, p.m, p.k);
    align(laid.b, p.k, p.n);
    const bool a_has_rows_of_k = !p.a.transposed && p.m * p.k >= padded_elements_min;
    const bool b_has_rows_of_k = p.b.transposed && p.n * p.k >= padded_elements_min;
    if (a_has_rows_of_k || b_has_rows_of_k)
        laid.k = next_multiple(p.k, numbers_of_16_bytes);
    constexpr std::size_t floats_of_16_bytes = product_alignment / sizeof(float);
    if (p.c_stride % floats_of_16_bytes != 0 && p.m * p.n >= padded_elements_min) {
        laid.c_stride = next_multiple(p.n, numbers_of_16_bytes);
        if (!p.activation) // which is computed in rows as they are
            laid.n = laid.c_stride;
    }
    return laid;
}

// Operands that cuBLASLt reads besides c: rounded where it should be, aligned. Holds what is made for it.
class operands {
  public:
    operands(memory_pool& memory, cudaStream_t stream) : memory_{memory}, stream_{stream} {}

    const void *a = nullptr, *b = nullptr, *bias = nullptr;
    const void *factor = nullptr, *beta = nullptr; // where the plan says: here or on the device

    // `laid`: p as cuBLASLt gets it.
    result<void> take(const product& p, const product& laid, bool with_bias) {
        const auto of_a = numbers_of(p.a, p.m, p.k, p.batch);
        const auto of_b = numbers_of(p.b, p.k, p.n, p.batch);
        const auto laid_a = numbers_of(laid.a, laid.m, laid.k, laid.batch);
        const auto laid_b = numbers_of(laid.b, laid.k, laid.n, laid.batch);
        if (with_bias)
            if (auto done = put(bias, as_floats(p.bias, p.n, laid.n)); !done)
                return done;
        if (p.numbers == precision::float16)
            return take_halves(p, {of_a, laid_a}, {of_b, laid_b});
        factor = &p.factor;
        beta = &p.beta;
        const auto taken = [&](const rows_of_numbers& n, const rows_of_numbers& as) {
            return p.numbers == precision::bfloat16 ? as_bf16({n, as})
                                                    : as_floats(n.first, span_of(n), span_of(n));
        };
        if (auto done = put(a, taken(of_a, laid_a)); !done)
            return done;
        return put(b, taken(of_b, laid_b));
    }

  private:
    // A factor as it lies, and as cuBLASLt gets it: with zeros where that has further rows and columns.
    struct copied_factor {
        rows_of_numbers from, to;
    };

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

    // In memory with room for so many, whose rest gets any value.
    result<const void*> as_floats(const float* values, std::size_t count, std::size_t room) {
        if (is_aligned(values) && room == count)
            return static_cast<const void*>(values);
        return filled<float>(room, [&](float* to) {
            return cudaMemcpyAsync(to, values, count * sizeof(float), cudaMemcpyDefault, stream_);
        });
    }
    // Where the rows are as long and as far apart, all that the factor spans is copied as one row.
    template <class Round>
    result<const void*> rounded(const copied_factor& f, Round round) {
        const auto& [n, as] = f;
        const std::size_t span = span_of(n);
        const bool as_it_lies = as.stride == n.stride && as.columns == n.columns;
        const rows_of_numbers from =
            as_it_lies ? rows_of_numbers{n.first, 1, span, span, 1, span} : n;
        const std::size_t of_row =
            as_it_lies ? next_multiple(span, numbers_of_16_bytes) : as.stride;
        const std::size_t more_rows = as.rows - n.rows;
        const std::size_t count =
            more_rows == 0 ? from.rows * of_row : as.rows * as.stride; // of one matrix then
        return filled<std::uint16_t>(count, [&](std::uint16_t* to) {
            if (more_rows != 0)
                if (const auto status =
                        cudaMemsetAsync(to + n.rows * as.stride, 0,
                                        more_rows * as.stride * sizeof(std::uint16_t), stream_);
                    status != cudaSuccess)
                    return status;
            return round(from, rounded_rows{to, of_row}, stream_);
        });
    }
    result<const void*> as_bf16(const copied_factor& f) { return rounded(f, round_to_bf16); }
    result<const void*> as_f16(const copied_factor& f, factor_place place,
                               const half_scales* scales) {
        return rounded(f, [&](const auto& from, const auto& to, cudaStream_t stream) {
            return scale_to_f16(from, place, scales, to, stream);
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

    result<void> take_halves(const product& p, const copied_factor& of_a,
                             const copied_factor& of_b) {
        auto made = scratch<half_scales>(1);
        if (!made)
            return made.failure();
        half_scales* const scales = *made;
        if (auto done = checked(cudaMemsetAsync(scales, 0, sizeof *scales, stream_)); !done)
            return done;
        if (auto done = checked(find_largest(of_a.from, &scales->largest[0], stream_)); !done)
            return done;
        if (auto done = checked(find_largest(of_b.from, &scales->largest[1], stream_)); !done)
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

// Where cuBLASLt writes a matrix: there, or, where that is not aligned or its rows are to be further apart, in memory of our
// own, from which it is copied there.
class target {
  public:
    struct rows {
        std::size_t count, columns, stride;
        std::size_t elements() const { return (count - 1) * stride + columns; }
    };

    target(float* to, const rows& there, const rows& here) : to_{to}, there_{there}, here_{here} {}

    float* at = nullptr;

    result<void> take(memory_pool& memory) {
        at = to_;
        if (is_aligned(to_) && here_.stride == there_.stride)
            return {};
        auto made = memory.allocate(here_.count * here_.stride * sizeof(float));
        if (!made)
            return made.failure();
        kept_ = std::move(*made);
        at = reinterpret_cast<float*>(kept_->data());
        return {};
    }
    // Brings what lies there so far.
    result<void> bring(cudaStream_t stream) const { return copy(to_, there_, at, here_, stream); }
    result<void> put_there(cudaStream_t stream) const {
        return copy(at, here_, to_, there_, stream);
    }

  private:
    static result<void> copy(const float* from, const rows& of, float* to, const rows& there,
                             cudaStream_t stream) {
        if (from == to)
            return {};
        if (of.stride == there.stride)
            return checked(cudaMemcpyAsync(to, from, of.elements() * sizeof(float),
                                           cudaMemcpyDefault, stream));
        return checked(
            copy_rows({of.count, of.columns * sizeof(float),
                       reinterpret_cast<const std::byte*>(from), of.stride * sizeof(float),
                       reinterpret_cast<std::byte*>(to), there.stride * sizeof(float)},
                      stream));
    }

    float* to_;
    rows there_, here_;
    buffer_ref kept_;
};

} // namespace

result<void> products::operator()(const product& p, cudaStream_t stream) {
    TROUPE_CHECK(!p.activation || (p.beta == 0 && p.batch == 1 && p.c_stride == p.n),
                 "an activation is of the whole of c");
    const product laid = laid_out(p);
    auto known = plan_of(laid);
    if (!known)
        return known.failure();
    const product_plan& how = **known;
    auto workspace = memory_.allocate(how.workspace_bytes);
    if (!workspace)
        return workspace.failure();
    operands of{memory_, stream};
    if (auto done = of.take(p, laid, how.has_bias); !done)
        return done;
    // Where the activation comes behind, what it gets is what the product gives.
    float* const sums = p.pre_activation != nullptr && !how.has_copy ? p.pre_activation : p.c;
    const std::size_t elements = span_of(p.m, p.n, p.c_stride, p.batch, p.c_batch_stride);
    const auto rows_of = [&](const product& q) {
        return q.batch == 1 ? target::rows{p.m, p.n, q.c_stride}
                            : target::rows{1, elements, elements};
    };
    target c{sums, rows_of(p), rows_of(laid)};
    target copied{how.has_copy ? p.pre_activation : nullptr, rows_of(p), rows_of(p)};
    if (auto done = c.take(memory_); !done)
        return done;
    if (auto done = copied.take(memory_); !done)
        return done;
    // Sums that are added to, and gaps between rows, are copied with it.
    const bool has_gaps = elements != p.batch * p.m * p.n && laid.c_stride == p.c_stride;
    if (p.beta != 0 || has_gaps)
        if (auto done = c.bring(stream); !done)
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
                    {p.bias, p.m, p.n, laid.c_stride, c.at + i * p.c_batch_stride}, stream));
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
