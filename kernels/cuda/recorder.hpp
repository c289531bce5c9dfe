// Work that is done again and again is recorded as a graph and launched by one call, so that the GPU goes from kernel to
// kernel without waiting for the host: a stage's forward pass, its backward pass, its update.
//
// What is recorded is recorded anew each time, with its addresses and numbers, and put into the graph of the last time,
// which CUDA does for graphs of the same kernels in the same order; else it is made anew. The first of a name goes into the
// stream as it comes, as CUDA loads kernels when they are first used. What is recorded begins when all of it is: the GPU may
// wait for that, where it has nothing else to do.
//
// Threads: one at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "kernels/cuda/memory_sources.hpp"
#include "schemas/base/error.hpp"

namespace troupe::cuda {

class recorder {
  public:
    // Graphs are launched into `into`. Memory that is given back while something is recorded stays in `memory` until it is
    // launched. `into` must outlive the recorder, `memory` the work.
    recorder(cudaStream_t into, stream_memory& memory);
    ~recorder();
    recorder(const recorder&) = delete;
    recorder& operator=(const recorder&) = delete;

    // Work that is likely the same as the last of this owner and name begins, and is recorded unless it is the first.
    void begin(std::uint64_t owner, const std::string& name);
    // It ends, well or not: what is still recorded is launched, unless a call that failed has spoilt the recording.
    result<void> end();

    // Where work is put in: what it records begins with this call.
    cudaStream_t stream() {
        if (now_ != nullptr && !is_recording_)
            record();
        return is_recording_ ? stream_ : into_;
    }

    // Calls put_in(into), for what cannot be recorded, behind all that has been put in so far.
    template <class PutIn>
    result<void> directly(const PutIn& put_in) {
        const bool was_recorded = is_recording_;
        if (was_recorded)
            if (auto launched = launch(); !launched)
                return launched;
        auto done = put_in(into_);
        if (was_recorded) // whoever has asked for stream() before may put in more
            record();
        return done;
    }

  private:
    struct repeated {
        // By the number of the part, which what goes directly ends, and its kernels.
        std::map<std::pair<std::size_t, std::size_t>, cudaGraphExec_t> parts;
        std::uint64_t last_used = 0;
    };
    using name_of_work = std::pair<std::uint64_t, std::string>;

    void record();
    result<void> launch();
    result<void> launch(cudaGraph_t graph, std::size_t nodes);
    static void destroy(repeated& work);
    void forget_the_oldest();

    const cudaStream_t into_;
    stream_memory& memory_;
    cudaStream_t stream_ = nullptr; // of recording alone; null until the first
    std::map<name_of_work, repeated> known_;
    std::uint64_t begun_ = 0;
    repeated* now_ = nullptr; // what is to be recorded
    std::size_t part_ = 0;    // of it
    bool is_recording_ = false;
};

} // namespace troupe::cuda
