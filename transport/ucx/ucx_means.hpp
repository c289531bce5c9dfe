// What an endpoint sends with: the ways that it may use, the mark by which peers see that they share memory with it, and
// UCX's context for each way, opened when a link first takes it.
//
// Threads: ways() and mark() any; the others one at a time. Errors: errc::usage for what was asked for and is not there,
// with what to do; errc::io where UCX cannot start.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "transport/ucx/memory_mark.hpp"
#include "transport/ucx/ucx_worker.hpp"
#include "transport/ucx/ways.hpp"

namespace troupe {

class ucx_means {
  public:
    // Opens the context of the likeliest way, too, so that what is wrong with UCX shows at once.
    static result<std::unique_ptr<ucx_means>> find(ucx_transports asked, bool loopback_only);

    const ucx_ways& ways() const noexcept { return ways_; }
    std::optional<memory_mark> mark() const;

    // It belongs to this object.
    result<ucx_context*> context(ucx_way way);

  private:
    explicit ucx_means(bool loopback_only) : loopback_only_{loopback_only} {}

    const bool loopback_only_;
    ucx_ways ways_;
    std::optional<own_memory_mark> mark_;                  // where shared memory is among the ways
    std::array<std::unique_ptr<ucx_context>, 3> contexts_; // by way
};

} // namespace troupe
