// The base of all reducers of compressed gradients. Each is one rank of an all-reduce, in the place of a reducer
// (reducer.hpp): the base speaks schemas/collective.capnp with the stage, and runs one piece of work at a time on the
// device.
//
// The stage submits payloads, which it makes during its backward pass; with a codec that has low_rank() it submits
// gradients.
//
// Threads: an actor's. Payloads are decoded and summed on the device. Work that only adds or moves numbers runs in the
// handler, as in a reducer: sums of numbers that are not compressed, and cutting payloads into blocks.
// Errors: a message that does not fit or that another rank refuses, and work that fails, end it; its stage watches it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/work_queue.hpp"
#include "kernels/codec/codec.hpp"
#include "kernels/device/device.hpp"
#include "schemas/collective.capnp.h"

namespace troupe {

struct compressed_options {
    std::shared_ptr<device> compute;
    std::vector<tensor_shape> shapes;    // of the stage's averages, then of its parameters
    std::size_t averages = 0;            // number of averages
    std::vector<payload_form_ptr> forms; // by tensor, as submitted and as sent; null: float32
    codec_ptr codec;                     // for the parameters; null with sufficient factors
    std::uint64_t seed = 0;
};

class compressed_reducer : public actor {
  protected:
    compressed_reducer(actor_context& context, compressed_options options);

    // The reduction under way.
    struct running {
        std::uint64_t id;
        minibatch_id minibatch;
        float scale;
        std::size_t submitted_from; // tensors from this one on have been submitted
        std::vector<tensor> own;    // by collect()
    };

    // Called when rank() and members() are known.
    virtual void joined() = 0;
    // Takes the stage's tensors first, first + 1, ... of the reduction under way; calls go from the last tensors to the
    // first. One call with no tensors and first = 0 stands for zeros.
    virtual void accept(std::size_t first, std::vector<tensor> submitted) = 0;
    // Takes another rank's chunk of this reduction or the next one. errc::protocol if it is not due.
    virtual result<void> arrive(proto::ReduceChunk::Reader body, std::uint32_t rank,
                                const frame& f) = 0;

    const compressed_options& options() const noexcept { return options_; }
    std::uint32_t rank() const noexcept { return rank_; }
    const std::vector<actor_address>& members() const noexcept { return members_; } // by rank
    const std::optional<running>& current_reduction() const noexcept { return current_; }
    bool is_current(std::uint64_t id) const noexcept { return current_ && current_->id == id; }
    bool is_busy() const noexcept { return !work_.is_idle(); }

    // For reducers that begin when all tensors are there: keeps the submitted tensors, and returns all with the first one.
    std::optional<std::vector<tensor>> collect(std::size_t first, std::vector<tensor> submitted);
    // Checks that a tensor of the stage or another rank is an operand of sum `number`.
    result<void> check_tensor(std::size_t number, const tensor& t) const;
    // Sends another rank a chunk of the reduction under way.
    void send_chunk(std::uint32_t to, std::uint32_t slice, std::uint32_t round,
                    std::span<const tensor> parts);
    // Runs `add`, which adds or cuts numbers in the handler, and puts it in the trace.
    result<void> timed_sum(const std::function<result<void>()>& add);
    // Submits work on so many elements, one piece at a time; `then` runs in this actor when it has succeeded.
    void submit(const char* label, std::size_t elements, device_work work,
                std::function<void()> then);
    std::size_t elements() const noexcept; // of all tensors
    // Answers the stage, which ends the reduction.
    void finish(std::vector<tensor> sums);
    void fail(const error& why) { quit(why); }

  private:
    void join(proto::JoinReduction::Reader body, const frame& f);
    void reduce(proto::Reduce::Reader body, const frame& f);
    void chunk(proto::ReduceChunk::Reader body, const frame& f);
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;
    result<void> check_submitted(std::size_t first, std::span<const tensor> submitted) const;
    result<void> check_due(std::uint64_t reduction) const;

    compressed_options options_;
    actor_address stage_;
    std::uint32_t rank_ = 0;
    std::vector<actor_address> members_;
    std::optional<running> current_;
    std::uint64_t next_id_ = 0;
    work_queue work_;
};

} // namespace troupe
