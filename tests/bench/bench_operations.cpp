// GFLOP/s of every operation at the shapes of the network in apps/fashion_mnist, beside the peak of sgemm measured in
// the same run. The best of many repetitions, one thread.
//
//   bench_operations [BATCH]
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "kernels/cpu/cpu_operations.hpp"
#include "tests/bench/sgemm_peak.hpp"
#include "tests/conformance/operations_cases.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;

namespace {

double best_seconds(const troupe::clock& time, const std::function<result<void>()>& run) {
    double best = 1e9;
    for (int i = 0; i < 25; ++i) {
        const time_point start = time.now();
        TROUPE_CHECK(run().ok(), "the case runs");
        best = std::min(best, static_cast<double>((time.now() - start).count()) * 1e-9);
    }
    return best;
}

} // namespace

int main(int argc, char** argv) {
    const std::size_t batch = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 64;
    memory_pool pool{4ull << 30};
    const auto ops = make_cpu_operations(pool);
    compute_context context{*ops, pool};
    const monotonic_clock time;
    const double peak = bench::sgemm_peak_flops(time);
    std::printf("sgemm peak, one thread: %.1f GFLOP/s\n", peak * 1e-9);
    std::printf("%-68s %10s %9s %6s %12s %9s %6s\n", "case", "forward ms", "GFLOP/s", "share",
                "backward ms", "GFLOP/s", "share");
    for (const auto& row : test::timed_cases(batch)) {
        std::vector<tensor> inputs;
        for (const auto& shape : row->input_shapes())
            inputs.push_back(test::random_tensor(pool, shape, inputs.size()));
        auto prepared =
            row->prepare(context, inputs, test::random_tensor(pool, row->output_shape(), 9));
        const double forward = best_seconds(time, prepared.forward);
        std::printf("%-68s %10.3f %9.1f %5.0f%%", row->name().c_str(), forward * 1e3,
                    row->forward_flops() / forward * 1e-9,
                    100 * row->forward_flops() / forward / peak);
        if (prepared.backward) {
            const double backward = best_seconds(time, prepared.backward);
            std::printf(" %12.3f %9.1f %5.0f%%", backward * 1e3,
                        row->backward_flops() / backward * 1e-9,
                        100 * row->backward_flops() / backward / peak);
        }
        std::printf("\n");
    }
}
