#include "kernels/cuda/recorder.hpp"

#include <algorithm>

#include "kernels/cuda/status.hpp"

namespace troupe::cuda {

namespace {

constexpr unsigned changes_max = 8;    // after which work is taken to be another every time
constexpr std::size_t works_max = 256; // names that are remembered

} // namespace

recorder::recorder(cudaStream_t into) : into_{into} {}

recorder::~recorder() {
    for (auto& [name, work] : known_)
        destroy(work);
    if (stream_ != nullptr)
        cudaStreamDestroy(stream_);
}

void recorder::destroy(repeated& work) {
    for (const cudaGraphExec_t part : work.parts)
        if (part != nullptr)
            cudaGraphExecDestroy(part); // a GPU that is still at it finishes before
    work.parts.clear();
}

void recorder::begin(std::uint64_t owner, const std::string& name) {
    const auto [at, is_first] = known_.try_emplace(name_of_work{owner, name});
    at->second.last_used = ++begun_;
    if (is_first)
        return known_.size() > works_max ? forget_the_oldest() : void();
    if (at->second.changes > changes_max)
        return;
    if (stream_ == nullptr &&
        cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) != cudaSuccess) {
        cudaGetLastError(); // goes on without
        return;
    }
    now_ = &at->second;
    part_ = 0;
    record_on();
}

void recorder::forget_the_oldest() {
    const auto oldest = std::ranges::min_element(
        known_, {}, [](const auto& entry) { return entry.second.last_used; });
    destroy(oldest->second);
    known_.erase(oldest);
}

void recorder::record_on() {
    is_recording_ = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed) == cudaSuccess;
    if (!is_recording_)
        cudaGetLastError(); // goes on without
}

void recorder::drop() {
    cudaGraph_t graph = nullptr;
    is_recording_ = false;
    if (cudaStreamEndCapture(stream_, &graph) == cudaSuccess)
        cudaGraphDestroy(graph);
    cudaGetLastError(); // what failed has been said
}

result<void> recorder::launch() {
    cudaGraph_t graph = nullptr;
    is_recording_ = false;
    if (auto ended = checked(cudaStreamEndCapture(stream_, &graph)); !ended)
        return ended;
    std::size_t count = 0;
    auto done = checked(cudaGraphGetNodes(graph, nullptr, &count));
    if (done && count > 0)
        done = launch(graph);
    cudaGraphDestroy(graph);
    return done;
}

result<void> recorder::launch(cudaGraph_t graph) {
    if (part_ == now_->parts.size())
        now_->parts.push_back(nullptr);
    cudaGraphExec_t& part = now_->parts[part_++];
    cudaGraphExecUpdateResultInfo why{};
    if (part != nullptr && cudaGraphExecUpdate(part, graph, &why) != cudaSuccess) {
        cudaGetLastError(); // it is another graph now
        cudaGraphExecDestroy(part);
        part = nullptr;
        ++now_->changes;
    }
    if (part == nullptr)
        if (auto made = checked(cudaGraphInstantiate(&part, graph, 0)); !made)
            return made;
    return checked(cudaGraphLaunch(part, into_));
}

} // namespace troupe::cuda
