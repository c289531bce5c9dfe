#include "kernels/cuda/early_copies.hpp"

#include <algorithm>
#include <utility>

#include "kernels/cuda/status.hpp"

namespace troupe::cuda {

namespace {

constexpr std::size_t waiting_max = 16; // what nobody has taken behind so many will not be wanted

} // namespace

early_copies::early_copies(execution& run, memory_pool& memory) : run_{run}, memory_{memory} {}

early_copies::~early_copies() {
    if (stream_ != nullptr)
        cudaStreamSynchronize(stream_);
    for (const copy& c : waiting_)
        cudaEventDestroy(c.end);
    if (before_ != nullptr)
        cudaEventDestroy(before_);
    if (stream_ != nullptr)
        cudaStreamDestroy(stream_);
}

void early_copies::begin(const tensor& t) {
    if (waiting_.size() == waiting_max) {
        cudaEventSynchronize(waiting_.front().end); // until then the GPU writes there
        cudaEventDestroy(waiting_.front().end);
        waiting_.pop_front();
    }
    if (auto copy = begun(t))
        waiting_.push_back(std::move(*copy));
    else
        cudaGetLastError(); // not for the next call to find
}

result<early_copies::copy> early_copies::begun(const tensor& t) {
    if (stream_ == nullptr)
        if (auto made = checked(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); !made)
            return made.failure();
    if (before_ == nullptr)
        if (auto made = checked(cudaEventCreateWithFlags(&before_, cudaEventDisableTiming)); !made)
            return made.failure();
    auto to = tensor::allocate(memory_, t.type(), t.shape());
    if (!to)
        return to.failure();
    copy c{t, std::move(*to)};
    if (auto made = checked(cudaEventCreateWithFlags(&c.end, cudaEventDisableTiming)); !made)
        return made.failure();
    cudaError_t status = cudaEventRecord(before_, run_.stream());
    if (status == cudaSuccess)
        status = cudaStreamWaitEvent(stream_, before_, 0);
    if (status == cudaSuccess)
        status =
            cudaMemcpyAsync(c.to.mutable_data(), t.data(), t.bytes(), cudaMemcpyDefault, stream_);
    if (status == cudaSuccess)
        status = cudaEventRecord(c.end, stream_);
    if (status == cudaSuccess)
        return c;
    cudaStreamSynchronize(stream_); // what has begun must not outlive its memory
    cudaEventDestroy(c.end);
    return failed(status);
}

result<std::optional<tensor>> early_copies::taken(const tensor& t) {
    const auto found = std::ranges::find_if(waiting_, [&](const copy& c) {
        return c.from.data() == t.data() && c.from.type() == t.type() &&
               c.from.shape() == t.shape();
    });
    if (found == waiting_.end())
        return std::optional<tensor>{};
    copy c = std::move(*found);
    waiting_.erase(found);
    run_.hold(c.from);
    auto done = run_.directly([&](cudaStream_t stream) {
        return checked(cudaStreamWaitEvent(stream, c.end, 0), {&c.to});
    });
    cudaEventDestroy(c.end); // lasts until what waits for it has gone on
    if (!done)
        return done.failure();
    return std::optional<tensor>{std::move(c.to)};
}

} // namespace troupe::cuda
