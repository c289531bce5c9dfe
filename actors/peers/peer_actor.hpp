// What the actors beside replicas share that exchange weights: they speak schemas/peers.capnp with their stage, put weights
// in a row and do one thing at a time on the device.
//
// Threads: an actor's. Device work touches only what it was given.
// Errors: what does not fit, and work that fails, end it; its stage watches it. A peer that is lost is told to the method.
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
    std::vector<tensor_shape> shapes; // of the stage's averages and parameters
};

class peer_actor : public actor {
  protected:
    peer_actor(actor_context& context, peer_options options);

    // ---- what a method does; weights are rows ----

    virtual void joined() {}              // the members are known; messages of theirs may come
    virtual void begin(tensor first) = 0; // by which this replica begins, before all steps
    virtual void exchange(tensor own, bool last) = 0; // comes to answer()
    virtual void read_common() = 0;                   // comes to answer_common()
    virtual void lose(std::uint32_t) {}               // the peer of this rank is gone; not a step
    virtual void gain(std::uint32_t) {} // another has its place, between two epochs; not a step
    // What another peer gets that reads weights here; none: nothing is to be had here.
    virtual tensor readable() const = 0;
    // What a peer of this rank has, which was asked.
    virtual void take_read_weights(std::uint32_t, tensor) {}

    // ---- what it has for that ----

    // To Exchange; factor as of Exchanged.
    void answer(const tensor& row, float factor);
    void answer_common(const tensor& row);

    // Runs `step` as soon as the device does nothing for this actor, in the order of the calls.
    void in_turn(std::function<void()> step);
    // Of a step: puts work on the device; `then` runs in this actor when it has succeeded, and may submit more.
    void submit(device_work work, std::function<void()> then);

    bool has_joined() const noexcept { return stage_.operator bool(); }
    float rate() const noexcept { return rate_; } // the learning rate of the last exchange
    std::uint32_t rank() const noexcept { return rank_; }
    const std::vector<actor_address>& members() const noexcept { return members_; }
    std::optional<std::uint32_t> rank_of(actor_address member) const;
    // None: the message is not for this peer, and rejected. One that has not joined yet says nothing: the others may expect
    // it, and it has been given up meanwhile.
    std::optional<std::uint32_t> rank_of_sender(const frame& f);
    // Whether these are one row of weights; else this actor ends.
    bool check_row(const frame& f);
    void fail(const error& why) { quit(why); }

    // A message of the exchange under way, which names its minibatch.
    template <class Body>
    frame_builder<Body> message() const {
        frame_builder<Body> b;
        b.envelope().setMinibatch(minibatch_.value());
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
    // Lays what is attached in a row on the device.
    void lay_out(const frame& f, std::function<void(tensor)> then);
    void go_on();

    const peer_options options_;
    const std::size_t elements_;
    actor_address stage_;
    std::uint32_t rank_ = 0;
    std::vector<actor_address> members_; // by rank; this one among them
    minibatch_id minibatch_{none};       // of the last exchange
    float rate_ = 0;                     // of that
    bool is_asked_ = false;              // an answer to the stage is due
    bool is_new_ = false;                // among peers at work, without weights yet
    std::deque<std::function<void()>> steps_;
    work_queue work_;
};

} // namespace troupe
