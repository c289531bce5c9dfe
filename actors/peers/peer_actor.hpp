// Base class of peers, the actors colocated with replicas that exchange weights: it speaks schemas/peers.capnp with the
// stage, concatenates weights into rows, and submits one piece of work at a time to the device.
//
// Threads: its actor's. Device work touches only what it was given.
// Errors: messages that do not fit and failed work end it; its stage watches it. The loss of a peer is reported to the
// method.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/work_queue.hpp"
#include "kernels/device/device.hpp"
#include "kernels/tensor/tensor.hpp"
#include "schemas/peers.capnp.h"

namespace troupe {

struct peer_options {
    std::shared_ptr<device> compute;
    actor_address trainer;
    std::vector<tensor_shape> shapes; // shapes of the stage's averages and parameters
};

class peer_actor : public actor {
  protected:
    peer_actor(actor_context& context, peer_options options);

    // ---- what a method does; weights are rows ----

    virtual void joined() {} // the members are known and may send messages
    // The initial weights of this replica, before all steps.
    virtual void begin(tensor first) = 0;
    virtual void exchange(tensor own, bool last) = 0; // ends in answer()
    virtual void read_common() = 0;                   // ends in answer_common()
    virtual void lose(std::uint32_t) {}               // the peer of this rank is lost; not a step
    // Another peer takes the place of a lost one, between two epochs; not a step.
    virtual void gain(std::uint32_t) {}
    // The weights that other peers read from this one; none if it has none to give.
    virtual tensor readable() const = 0;
    // Takes the weights that were read from the peer of this rank.
    virtual void take_read_weights(std::uint32_t, tensor) {}

    // ---- what it has for that ----

    // Answers Exchange; `factor` as in Exchanged.
    void answer(const tensor& row, float factor);
    void answer_common(const tensor& row);

    // Runs `step` as soon as the device has no work for this actor, in the order of the calls.
    void in_turn(std::function<void()> step);
    // Called within a step: submits work to the device; `then` runs in this actor when the work has succeeded, and may
    // submit more.
    void submit(device_work work, std::function<void()> then);

    bool has_joined() const noexcept { return stage_.operator bool(); }
    float rate() const noexcept { return rate_; } // learning rate of the last exchange
    std::uint32_t rank() const noexcept { return rank_; }
    const std::vector<actor_address>& members() const noexcept { return members_; }
    std::optional<std::uint32_t> rank_of(actor_address member) const;
    // None: the message is not for this peer and is rejected. A peer that has not joined yet sends no rejection: the others
    // may expect it although it has been given up meanwhile.
    std::optional<std::uint32_t> rank_of_sender(const frame& f);
    // True if the message holds one row of weights; else this actor ends.
    bool check_row(const frame& f);
    void fail(const error& why) { quit(why); }

    // A message of the exchange under way, with the exchange's minibatch.
    template <class Body>
    frame_builder<Body> message() const {
        frame_builder<Body> b;
        b.envelope().setWork(minibatch_.value());
        return b;
    }

  private:
    void join(proto::JoinPeers::Reader body, const frame& f);
    void take_exchange(proto::Exchange::Reader body, const frame& f);
    void take_read(proto::ReadCommon::Reader body, const frame& f);
    void read_weights(proto::ReadWeights::Reader body, const frame& f);
    void take_weights(proto::PeerWeights::Reader body, const frame& f);
    void peer_joined(proto::PeerJoined::Reader body, const frame& f);
    void on_down(actor_address who, const error& why) override;
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    bool comes_from_stage(const frame& f);
    // Concatenates the attached tensors into a row on the device.
    void lay_out(const frame& f, std::function<void(tensor)> then);
    void go_on();

    const peer_options options_;
    const std::size_t elements_;
    actor_address stage_;
    std::uint32_t rank_ = 0;
    std::vector<actor_address> members_; // by rank, including this one
    minibatch_id minibatch_{none};       // of the last exchange
    float rate_ = 0;                     // of the last exchange
    bool is_asked_ = false;              // an answer to the stage is due
    bool is_new_ = false;                // joined a running group and has no weights yet
    std::deque<std::function<void()>> steps_;
    work_queue work_;
};

} // namespace troupe
