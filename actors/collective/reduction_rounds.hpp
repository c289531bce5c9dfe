// The messages of one rank in successive all-reduces: pairs chunks with the rounds of a reduction. Used by an actor, in
// whose handlers it adds. Several slices are under way at a time, and begin in one order.
//
// Threads: an actor's.
// Errors: a chunk that does not fit, and exhausted memory; nothing may be called after that.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "actors/collective/reduction.hpp"
#include "schemas/base/ids.hpp"
#include "schemas/collective.capnp.h"

namespace troupe {

// The ranks of these members, and their nodes.
rank_nodes nodes_of(std::span<const actor_address> members);

class reduction_rounds {
  public:
    // Sends a part to a rank.
    using sender = std::function<void(std::uint32_t to, std::uint32_t slice, std::uint32_t round,
                                      tensor part)>;
    // A rank's part is received into this memory from now on; false if it is not.
    using expecter = std::function<bool(std::uint32_t from, std::uint32_t slice,
                                        std::uint32_t round, tensor place)>;
    // Runs `add` and returns its result, so that it can be timed.
    using adder = std::function<result<void>(const std::function<result<void>()>& add)>;

    reduction_rounds(reduction_plan plan, sender send, adder add, expecter expect = {})
        : plan_{std::move(plan)}, send_{std::move(send)}, add_{std::move(add)}, expect_{std::move(
                                                                                    expect)} {}
    reduction_rounds(const reduction_rounds&) = delete;
    reduction_rounds& operator=(const reduction_rounds&) = delete;

    // Begins a reduction, which the functions below are about.
    void begin(std::uint64_t id, memory_pool& memory, float scale);
    std::size_t slices() const noexcept { return plan_.slices.size(); }
    reduction& numbers() { return current_->numbers; }
    bool is_under_way() const noexcept { return current_.has_value(); }
    // Takes slices as far as the submitted tensors and the arrived chunks allow.
    result<void> go_on();
    // True if all slices are done, or all of the plan's early slices.
    bool is_done() const { return current_->finished == plan_.slices.size(); }
    bool is_early_done() const { return current_->finished_early == plan_.early_slices; }
    result<std::vector<tensor>> end(); // ends the reduction: its sums

    // Takes a chunk of the reduction under way or of the one after it. errc::protocol if it is not due.
    result<void> arrive(proto::ReduceChunk::Reader body, std::uint32_t from,
                        std::span<const tensor> parts);

  private:
    using part_key = std::pair<std::size_t, std::uint32_t>; // slice, round
    // Reduction, slice, round.
    using chunk_key = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;

    struct running {
        std::uint64_t id;
        reduction numbers;
        std::size_t started = 0; // slices
        std::size_t finished = 0;
        std::size_t finished_early = 0; // of the early slices
        // Where parts are received that have yet to be taken.
        std::map<part_key, const std::byte*> places{};
    };

    result<void> start(std::size_t slice);
    result<void> go_on(std::size_t slice);
    result<void> check(proto::ReduceChunk::Reader body, std::uint32_t from,
                       std::span<const tensor> parts) const;

    reduction_plan plan_;
    sender send_;
    adder add_;
    expecter expect_; // may be empty
    std::optional<running> current_;
    std::uint64_t next_id_ = 0; // of the reduction after the last that has ended
    std::map<chunk_key, tensor> arrived_;
};

} // namespace troupe
