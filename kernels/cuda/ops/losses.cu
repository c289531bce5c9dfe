#include <algorithm>
#include <cfloat>

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/row_reductions.hpp"
#include "kernels/cuda/rows.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

constexpr std::size_t loss_blocks_max = 1024; // that sum losses: enough to fill a GPU

// A view of the logits of a row.
struct row_view {
    float largest = -FLT_MAX;
    float total = 0; // of exp(logit - largest)
    float sum = 0;
    int beaten = 0; // whether the label's logit is not the first largest

    __device__ void see(float logit, bool is_before_label, float of_label) {
        const float above = logit - largest;
        const float power = expf(-fabsf(above));
        if (above > 0) {
            total = total * power + 1;
            largest = logit;
        } else {
            total += power;
        }
        sum += logit;
        // Written so that a NaN is never correct.
        beaten |= is_before_label ? !(logit < of_label) : !(logit <= of_label);
    }
};

struct cross_entropy_task {
    const float* logits;
    const std::int32_t* labels;
    float* gradient; // or null
    std::size_t rows, classes;
    float scale;
    float each, of_label; // how much of the truth each class has, and how much more the label
    bool ignores;
    std::int32_t ignored;
    cuda::bad_element_slot bad;
    double* sums; // 3 numbers, each of all blocks
};

// ---- kernels ----------------------------------------------------------------------------------------------------------

// A block sums its rows, in double.
template <class Threads>
__global__ void cross_entropy_kernel(cross_entropy_task t) {
    double loss = 0, counted = 0, correct = 0; // of the first thread of each row
    for (std::size_t r = Threads::first_row(); r < t.rows; r += Threads::row_step()) {
        const float* row = t.logits + r * t.classes;
        float* gradient = t.gradient == nullptr ? nullptr : t.gradient + r * t.classes;
        const std::int32_t given = t.labels[r];
        const bool is_ignored = t.ignores && given == t.ignored;
        const auto label = static_cast<std::size_t>(given);
        const bool is_bad = given < 0 || label >= t.classes;
        if (is_ignored || is_bad) {
            if (!is_ignored && Threads::index() == 0)
                cuda::report_bad(t.bad, r, given);
            if (gradient != nullptr)
                for (std::size_t c = Threads::index(); c < t.classes; c += Threads::count())
                    gradient[c] = 0;
            continue;
        }
        const float of_label = row[label];
        row_view view;
        for (std::size_t c = Threads::index(); c < t.classes; c += Threads::count())
            view.see(row[c], c < label, of_label);
        const float largest = Threads::together(view.largest, -FLT_MAX, cuda::larger{});
        const float total = Threads::together(view.total * expf(view.largest - largest));
        const int beaten = Threads::together(view.beaten);
        const float sum = t.each > 0 ? Threads::together(view.sum) : 0;
        if (Threads::index() == 0) {
            const double log_sum = double{largest} + double{logf(total)};
            loss += double{t.of_label} * (log_sum - double{of_label});
            loss += double{t.each} * (static_cast<double>(t.classes) * log_sum - double{sum});
            counted += 1;
            correct += beaten == 0;
        }
        if (gradient == nullptr)
            continue;
        const float share = 1 / total;
        for (std::size_t c = Threads::index(); c < t.classes; c += Threads::count()) {
            const float truth = c == label ? t.each + t.of_label : t.each;
            gradient[c] = t.scale * (expf(row[c] - largest) * share - truth);
        }
    }
    loss = cuda::over_block(loss);
    counted = cuda::over_block(counted);
    correct = cuda::over_block(correct);
    if (threadIdx.x == 0) {
        t.sums[blockIdx.x] = loss;
        t.sums[gridDim.x + blockIdx.x] = counted;
        t.sums[2 * gridDim.x + blockIdx.x] = correct;
    }
}

// The part of a block in numbers that all blocks have, beside one another.
struct part_of_block {
    const double* sums;
    std::size_t blocks;
    __device__ double operator()(std::size_t number, std::size_t block) const {
        return sums[number * blocks + block];
    }
};

struct kept_totals {
    double* at;
    __device__ void operator()(std::size_t number, double total) const { at[number] = total; }
};

struct squared_difference {
    const float* outputs;
    const float* targets;
    float slope;
    float* gradient; // or null
    __device__ double operator()(std::size_t, std::size_t i) const {
        const float difference = outputs[i] - targets[i];
        if (gradient != nullptr)
            gradient[i] = slope * difference;
        return double{difference} * double{difference};
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const softmax_cross_entropy& op) {
    op.sums = {};
    const std::size_t rows = op.labels.elements();
    const std::size_t classes = op.logits.shape().dimensions().back();
    if (rows == 0)
        return {};
    const bool is_warp = classes <= cuda::warp_columns_max;
    const std::size_t wanted = cuda::blocks_for(rows, is_warp ? cuda::warps_of_block : 1);
    const auto blocks = static_cast<unsigned>(std::min(wanted, loss_blocks_max));
    struct totals {
        double loss, counted, correct;
    };
    auto memory = run_.scratch((blocks + 1) * sizeof(totals)); // their sums and the totals
    if (!memory)
        return memory.failure();
    auto* const sums = reinterpret_cast<double*>((*memory)->data());
    auto bad = run_.look_out([labels = op.labels.shape(), classes](auto row, auto label) {
        return bad_label(labels, row, label, classes);
    });
    if (!bad)
        return bad.failure();
    const cross_entropy_task task{
        .logits = cuda::floats(op.logits),
        .labels = cuda::integers(op.labels),
        .gradient = cuda::floats(op.gradient),
        .rows = rows,
        .classes = classes,
        .scale = op.scale,
        .each = op.label_smoothing / static_cast<float>(classes),
        .of_label = 1 - op.label_smoothing,
        .ignores = op.ignored_label.has_value(),
        .ignored = op.ignored_label.value_or(0),
        .bad = *bad,
        .sums = sums,
    };
    const cuda::launch_shape shape{blocks, is_warp ? cuda::block_threads : cuda::wide_row_threads};
    const auto kernel = is_warp ? cross_entropy_kernel<cuda::warp_of_row>
                                : cross_entropy_kernel<cuda::block_of_row>;
    if (auto done = cuda::checked(cuda::launch(run_.stream(), shape, kernel, task), {&op.logits});
        !done)
        return done;
    double* const all = sums + 3 * blocks;
    if (auto done = cuda::reduce_rows(run_, {3, blocks, blocks}, 0.0, part_of_block{sums, blocks},
                                      cuda::plus{}, kept_totals{all}, {&op.logits});
        !done)
        return done;
    const auto read = run_.read(reinterpret_cast<const totals*>(all));
    if (!read)
        return read.failure();
    op.sums = {read->loss, static_cast<std::uint64_t>(read->counted),
               static_cast<std::uint64_t>(read->correct)};
    return {};
}

result<void> cuda_operations::start(const mean_squared_error& op) {
    const std::size_t count = op.outputs.elements();
    const double of_sample = static_cast<double>(count / op.outputs.shape()[0]);
    const auto sum =
        cuda::reduced(run_, count, 0.0,
                      squared_difference{cuda::floats(op.outputs), cuda::floats(op.targets),
                                         static_cast<float>(2 * double{op.scale} / of_sample),
                                         cuda::floats(op.gradient)},
                      cuda::plus{}, {&op.outputs});
    if (!sum)
        return sum.failure();
    op.sum = *sum / of_sample;
    return {};
}

} // namespace troupe
