// Typed identifiers: a minibatch number cannot be passed where a weight version is meant.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>

namespace troupe {

// An integer with a meaning. Ordered, hashable, printable; arithmetic goes through value() and next().
template <class Tag, class Representation = std::uint64_t>
class id {
  public:
    constexpr id() noexcept = default;
    constexpr explicit id(Representation value) noexcept : value_{value} {}

    constexpr Representation value() const noexcept { return value_; }
    constexpr id next() const noexcept { return id{static_cast<Representation>(value_ + 1)}; }

    friend constexpr auto operator<=>(id, id) noexcept = default;
    friend std::ostream& operator<<(std::ostream& out, id i) { return out << +i.value_; }

  private:
    Representation value_{};
};

// Drawn at random when a node starts; 0 is nobody.
using node_id = id<struct node_id_tag>;
// Unique within its node for the node's life; 0 is nobody.
using actor_number = id<struct actor_number_tag>;
// A piece of work of a run, by which its messages are traced and followed. Counts from 0 over the whole run.
using work_id = id<struct work_id_tag>;
// The name of a piece of work in a training run.
using minibatch_id = work_id;
// A version of the state of a run, or of a part of it. Counts from 0.
using state_version = id<struct state_version_tag>;
// A version of the weights of a stage: the number of updates applied before; 0 is the initialisation.
using weight_version = state_version;
// 0 is the stage that reads the data.
using stage_index = id<struct stage_index_tag, std::uint32_t>;

// Stands for the number of a piece of work or a version where there is none.
inline constexpr std::uint64_t none = ~0ull;

// The receiver or the sender of a message. Stays valid when the actor dies: messages to it are then answered or dropped
// as the protocol says.
struct actor_address {
    node_id node;
    actor_number actor;

    friend constexpr auto operator<=>(const actor_address&,
                                      const actor_address&) noexcept = default;
    constexpr explicit operator bool() const noexcept { return actor.value() != 0; }
};

} // namespace troupe

template <class Tag, class Representation>
struct std::hash<troupe::id<Tag, Representation>> {
    std::size_t operator()(troupe::id<Tag, Representation> i) const noexcept {
        return std::hash<Representation>{}(i.value());
    }
};

template <>
struct std::hash<troupe::actor_address> {
    std::size_t operator()(const troupe::actor_address& a) const noexcept {
        return std::hash<std::uint64_t>{}(a.node.value() * 0x9e3779b97f4a7c15u ^ a.actor.value());
    }
};
