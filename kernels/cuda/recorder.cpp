#include "kernels/cuda/recorder.hpp"

#include <algorithm>

#include "kernels/cuda/status.hpp"

namespace troupe::cuda {

namespace {

constexpr std::size_t works_max = 256; // names that are remembered
constexpr std::size_t parts_max = 64;  // graphs of one name

} // namespace

recorder::recorder(cudaStream_t into, stream_memory& memory) : into_{into}, memory_{memory} {}

recorder::~recorder() {
    for (auto& [name, work] : known_)
        destroy(work);
    if (stream_ != nullptr)
        cudaStreamDestroy(stream_);
}

void recorder::destroy(repeated& work) {
    for (const auto& [which, part] : work.parts)
        cudaGraphExecDestroy(part); // a GPU that is still at it finishes before
    work.parts.clear();
}

void recorder::begin(std::uint64_t owner, const std::string& name) {
    const auto [at, is_first] = known_.try_emplace(name_of_work{owner, name});
    at->second.last_used = ++begun_;
    if (is_first)
        return known_.size() > works_max ? forget_the_oldest() : void();
    if (stream_ == nullptr &&
        cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) != cudaSuccess) {
        cudaGetLastError(); // goes on without
        return;
    }
    now_ = &at->second;
    part_ = 0;
}

void recorder::forget_the_oldest() {
    const auto oldest = std::ranges::min_element(
        known_, {}, [](const auto& entry) { return entry.second.last_used; });
    destroy(oldest->second);
    known_.erase(oldest);
}

void recorder::record() {
    is_recording_ = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed) == cudaSuccess;
    if (is_recording_)
        return memory_.hold_back();
    cudaGetLastError(); // goes on without
    now_ = nullptr;
}

result<void> recorder::end() {
    auto done = is_recording_ ? launch() : result<void>{};
    if (!done)
        cudaGetLastError(); // not for the next call to find
    now_ = nullptr;
    return done;
}

result<void> recorder::launch() {
    cudaGraph_t graph = nullptr;
    is_recording_ = false;
    auto done = checked(cudaStreamEndCapture(stream_, &graph));
    std::size_t nodes = 0;
    if (done)
        done = checked(cudaGraphGetNodes(graph, nullptr, &nodes));
    if (done && nodes > 0)
        done = launch(graph, nodes);
    if (graph != nullptr)
        cudaGraphDestroy(graph);
    memory_.let_go();
    return done;
}

result<void> recorder::launch(cudaGraph_t graph, std::size_t nodes) {
    if (now_->parts.size() > parts_max)
        destroy(*now_);
    cudaGraphExec_t& part = now_->parts[{part_++, nodes}];
    cudaGraphExecUpdateResultInfo why{};
    if (part != nullptr && cudaGraphExecUpdate(part, graph, &why) != cudaSuccess) {
        cudaGetLastError(); // it is another graph now
        cudaGraphExecDestroy(part);
        part = nullptr;
    }
    if (part == nullptr)
        if (auto made = checked(cudaGraphInstantiate(&part, graph, 0)); !made) {
            now_->parts.erase({part_ - 1, nodes});
            return made;
        }
    return checked(cudaGraphLaunch(part, into_));
}

} // namespace troupe::cuda
