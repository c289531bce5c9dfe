// The CUDA back end on this machine's GPU: operands lie in pinned memory of the host, which the GPU reads and writes, and
// every operation is a piece of work for the device. The program ends with 77, "skipped", where there is no GPU.
#define BOOST_TEST_NO_MAIN
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <future>
#include <iostream>

#include "kernels/cuda/cuda_module.hpp"
#include "tests/unit/kernels/backends.hpp"

namespace troupe::test {

namespace {

constexpr int skipped = 77;

const monotonic_time time_of_device;

// Open for as long as the program runs.
const cuda_module& gpu_module() {
    static const auto opened = [] {
        const char* named = std::getenv("TROUPE_CUDA_MODULE");
        return open_cuda_module(named != nullptr ? named : TROUPE_CUDA_MODULE).value();
    }();
    return *opened;
}

class device_operations final : public operations {
  public:
    device_operations() : gpu_{gpu_module().make_device({}, time_of_device).value()} {}

    std::string_view name() const noexcept override { return "cuda"; }
    std::size_t channel_block(std::size_t) const noexcept override { return 1; }

  private:
#define TROUPE_ON_DEVICE(type)                                                                     \
    result<void> compute(const type& op) override {                                                \
        const auto done = std::make_shared<std::promise<result<void>>>();                          \
        gpu_->submit(                                                                              \
            {[&](compute_context& context) { return context.ops.run(op); },                        \
             [done](result<void> outcome, duration) { done->set_value(std::move(outcome)); }});    \
        return done->get_future().get();                                                           \
    }
    TROUPE_OPERATIONS(TROUPE_ON_DEVICE)
#undef TROUPE_ON_DEVICE

    const std::unique_ptr<device> gpu_;
};

} // namespace

std::vector<backend> backends() {
    return {{"cuda", [](memory_pool&) { return std::make_unique<device_operations>(); }}};
}

operand_pool::operand_pool(std::uint64_t bytes_max)
    : memory_pool{bytes_max, gpu_module().pinned_memory(0), memory_kind::host} {}

} // namespace troupe::test

int main(int arguments, char** words) {
    using namespace troupe;
    const char* named = std::getenv("TROUPE_CUDA_MODULE");
    const auto opened = open_cuda_module(named != nullptr ? named : TROUPE_CUDA_MODULE);
    const auto gpus = opened ? (*opened)->gpus() : result<std::vector<gpu_info>>{opened.failure()};
    if (!gpus) {
        std::cout << "skipped: " << gpus.failure().message() << std::endl;
        return test::skipped;
    }
    const std::string cudnn = (*opened)->cudnn_version();
    std::cout << "on " << (*gpus)[0].name << ", "
              << (cudnn.empty() ? "without cuDNN" : "with cuDNN " + cudnn) << std::endl;
    return boost::unit_test::unit_test_main([] { return true; }, arguments, words);
}
