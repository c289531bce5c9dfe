// The CUDA back end on the emulated GPU, for tests of back ends. Operands lie in memory of the host; it waits after every
// operation.
#include "tests/unit/kernels/backends.hpp"

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/memory_sources.hpp"

namespace troupe::test {

namespace {

class waiting_operations final : public operations {
  public:
    explicit waiting_operations(memory_pool& pool)
        : scratch_{std::make_unique<memory_pool>(std::uint64_t{1} << 30,
                                                 std::make_unique<cuda::stream_memory>(0, stream_),
                                                 memory_kind::device)},
          run_{std::make_unique<cuda::execution>(stream_, *scratch_, pool)}, ops_{*run_} {}
    ~waiting_operations() override {
        run_.reset();
        scratch_.reset();
        cudaStreamDestroy(stream_);
    }

    std::string_view name() const noexcept override { return ops_.name(); }
    std::size_t channel_block(std::size_t channels) const noexcept override {
        return ops_.channel_block(channels);
    }

  private:
    static cudaStream_t made_stream() {
        cudaStream_t stream = nullptr;
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        return stream;
    }

#define TROUPE_WAIT_FOR(type)                                                                      \
    result<void> compute(const type& op) override {                                                \
        auto done = ops_.run(op);                                                                  \
        auto waited = run_->wait();                                                                \
        return done ? waited : done;                                                               \
    }
    TROUPE_OPERATIONS(TROUPE_WAIT_FOR)
#undef TROUPE_WAIT_FOR

    const cudaStream_t stream_ = made_stream();
    std::unique_ptr<memory_pool> scratch_;
    std::unique_ptr<cuda::execution> run_;
    cuda_operations ops_;
};

} // namespace

std::vector<backend> backends() {
    return {{"emulated cuda",
             [](memory_pool& pool) { return std::make_unique<waiting_operations>(pool); }}};
}

operand_pool::operand_pool(std::uint64_t bytes_max) : memory_pool{bytes_max} {}

} // namespace troupe::test
