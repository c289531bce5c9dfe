// Work that is done again and again is recorded as a graph and launched by one call, so that the GPU goes from kernel to
// kernel without waiting for the host: a stage's forward pass, its backward pass, its update.
//
// What is recorded is recorded anew each time, with its addresses and numbers, and put into the graph of the last time,
// which CUDA does for graphs of the same kernels in the same order. Work that is not the same over and over is put into the
// stream as it comes. So is the first of a name: CUDA loads kernels when they are first used, which cannot be recorded.
//
// Threads: one at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schemas/base/error.hpp"

namespace troupe::cuda {

class recorder {
  public:
    // Graphs are launched into this stream, which must outlive the recorder.
    explicit recorder(cudaStream_t into);
    ~recorder();
    recorder(const recorder&) = delete;
    recorder& operator=(const recorder&) = delete;

    // Work that is likely the same as the last of this owner and name begins. Whether it is recorded: is_recording().
    void begin(std::uint64_t owner, const std::string& name);

    // While it is, all goes into stream() and nothing happens until launch().
    bool is_recording() const noexcept { return is_recording_; }
    cudaStream_t stream() const noexcept { return stream_; }

    // Launches what has been recorded and records no more, until record_on().
    result<void> launch();
    void record_on();

    // Forgets what has been recorded: the work has failed.
    void drop();

  private:
    struct repeated {
        std::vector<cudaGraphExec_t> parts; // one for each launch() of the work
        unsigned changes = 0;               // how often one had to be made anew
        std::uint64_t last_used = 0;
    };
    using name_of_work = std::pair<std::uint64_t, std::string>;

    result<void> launch(cudaGraph_t graph);
    static void destroy(repeated& work);
    void forget_the_oldest();

    const cudaStream_t into_;
    cudaStream_t stream_ = nullptr; // of recording alone; null until the first
    std::map<name_of_work, repeated> known_;
    std::uint64_t begun_ = 0;
    repeated* now_ = nullptr; // what is being recorded
    std::size_t part_ = 0;    // of it
    bool is_recording_ = false;
};

} // namespace troupe::cuda
