// GFLOP/s of every operation at the shapes of the network in apps/fashion_mnist, beside the peak of sgemm measured in
// the same run; GB/s beside those of memcpy for operations that do little but move memory. The best of many repetitions,
// one thread.
//
//   bench_operations [BATCH]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_operations.hpp"
#include "tests/bench/sgemm_peak.hpp"
#include "tests/conformance/operations_cases.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;

namespace {

double best_seconds(const time_source& time, const std::function<result<void>()>& run) {
    double best = 1e9;
    for (int i = 0; i < 25; ++i) {
        const time_point start = time.now();
        TROUPE_CHECK(run().ok(), "the case runs");
        best = std::min(best, static_cast<double>((time.now() - start).count()) * 1e-9);
    }
    return best;
}

// Read and written. Of operands as large as those of the cases.
double memcpy_bytes_per_second(const time_source& time) {
    const std::vector<char> from(12 << 20, 1);
    std::vector<char> to(from.size());
    const double seconds = best_seconds(time, [&]() -> result<void> {
        std::memcpy(to.data(), from.data(), from.size());
        return {};
    });
    return 2 * static_cast<double>(to.size()) / seconds;
}

// Floating-point operations or bytes of a run, and the most per second that the machine does.
struct rate {
    double work;
    double peak;

    std::string in(double seconds) const {
        char text[64];
        std::snprintf(text, sizeof text, " %12.3f %9.1f %5.0f%%", seconds * 1e3,
                      work / seconds * 1e-9, 100 * work / seconds / peak);
        return text;
    }
};

} // namespace

int main(int argc, char** argv) {
    const std::size_t batch = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 64;
    memory_pool pool{4ull << 30};
    const auto ops = make_cpu_operations(pool);
    compute_context context{*ops, pool};
    const monotonic_time time;
    const double peak = bench::sgemm_peak_flops(time);
    const double copied = memcpy_bytes_per_second(time);
    std::printf("sgemm peak, one thread: %.1f GFLOP/s\n", peak * 1e-9);
    std::printf("memcpy, one thread: %.1f GB/s\n", copied * 1e-9);
    std::printf("%-68s %-7s %12s %9s %6s %12s %9s %6s\n", "case", "unit", "forward ms", "units/s",
                "share", "backward ms", "units/s", "share");
    for (const auto& row : test::timed_cases(batch)) {
        std::vector<tensor> inputs;
        for (const auto& shape : row->input_shapes())
            inputs.push_back(test::random_tensor(pool, shape, inputs.size()));
        auto prepared =
            row->prepare(context, inputs, test::random_tensor(pool, row->output_shape(), 9));
        const bool moves = row->forward_bytes() > 0;
        const rate forward =
            moves ? rate{row->forward_bytes(), copied} : rate{row->forward_flops(), peak};
        const rate backward =
            moves ? rate{row->backward_bytes(), copied} : rate{row->backward_flops(), peak};
        std::printf("%-68s %-7s%s", row->name().c_str(), moves ? "GB" : "GFLOP",
                    forward.in(best_seconds(time, prepared.forward)).c_str());
        if (prepared.backward)
            std::printf("%s", backward.in(best_seconds(time, prepared.backward)).c_str());
        std::printf("\n");
    }
}
