// One rank of an all-reduce of compressed gradients, in a reducer's place: what all ways to do that have in common. Its
// stage's side of schemas/collective.capnp, and one piece of work at a time on the device.
//
// The stage gives payloads, which it makes during its backward pass, but for a codec with low_rank(): gradients.
//
// Threads: an actor's. Payloads are decoded and summed on the device. What only adds or moves numbers runs in the handler,
// as a reducer's sums do: of numbers that are sent as they are, and the cuts of payloads into blocks.
// Errors: a message that does not fit or that a peer refuses, and work that fails, end it; its stage watches it.
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
    std::vector<tensor_shape> shapes;    // of what is summed; the stage's averages and parameters
    std::size_t averages = 0;            // of these the first
    std::vector<payload_form_ptr> forms; // by tensor: how it is given and sent; null: as it is
    codec_ptr codec;                     // of the parameters; null with sufficient factors
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
        std::size_t given_from;  // tensors from this one on have been given
        std::vector<tensor> own; // collected
    };

    // rank() and members() are known.
    virtual void joined() = 0;
    // The stage gives tensors first, first + 1, ... of the reduction under way, from the last to the first; or, once and
    // first 0, none: zeros.
    virtual void take(std::size_t first, std::vector<tensor> given) = 0;
    // What a peer has sent, of this reduction or the next one. errc::protocol where nothing like it is due.
    virtual result<void> arrive(proto::ReduceChunk::Reader body, std::uint32_t rank,
                                const frame& f) = 0;

    const compressed_options& options() const noexcept { return options_; }
    std::uint32_t rank() const noexcept { return rank_; }
    const std::vector<actor_address>& members() const noexcept { return members_; } // by rank
    const std::optional<running>& current_reduction() const noexcept { return current_; }
    bool is_current(std::uint64_t id) const noexcept { return current_ && current_->id == id; }
    bool is_busy() const noexcept { return !work_.is_idle(); }

    // For who begins when all is there: keeps what is given, and returns all of it with the first tensor.
    std::optional<std::vector<tensor>> collect(std::size_t first, std::vector<tensor> given);
    // Whether a tensor, as its stage or a peer sends it, is what a sum is made of.
    result<void> check_tensor(std::size_t number, const tensor& t) const;
    // A chunk of the reduction under way to a peer.
    void send_chunk(std::uint32_t to, std::uint32_t slice, std::uint32_t round,
                    std::span<const tensor> parts);
    // Adds, or cuts, in the handler; the trace has it.
    result<void> timed_sum(const std::function<result<void>()>& add);
    // One piece of work at a time, on so many numbers; `then` runs in this actor when it has succeeded.
    void submit(const char* label, std::size_t elements, device_work work,
                std::function<void()> then);
    std::size_t elements() const noexcept; // of all tensors
    // The answer to the stage, which ends the reduction.
    void finish(std::vector<tensor> sums);
    void fail(const error& why) { quit(why); }

  private:
    void join(proto::JoinReduction::Reader body, const frame& f);
    void reduce(proto::Reduce::Reader body, const frame& f);
    void chunk(proto::ReduceChunk::Reader body, const frame& f);
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;
    result<void> check_given(std::size_t first, std::span<const tensor> given) const;
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
