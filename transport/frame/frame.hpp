// A frame: one immutable Cap'n Proto message and the tensors attached to it. All messages are frames.
//
// A frame is built once, by a frame_builder, and never changes afterwards. Within a process it is passed by pointer;
// between processes its words and tensor bytes are sent (wire.hpp). The root is `Frame` in schemas/envelope.capnp: an
// envelope, the type id of the body, the body, and a descriptor per tensor.
//
// Threads: a finished frame may be read from any thread. A builder belongs to one thread.
// Errors: body<T>() on a frame of another type is a bug (compare body_type() first). Reading a field of a frame that
// came from outside may throw kj::Exception where the message is malformed; dispatchers catch it and answer Rejected.
#pragma once

#include <capnp/message.h>
#include <kj/array.h>

#include <memory>
#include <span>
#include <vector>

#include "kernels/tensor/tensor.hpp"
#include "schemas/base/check.hpp"
#include "schemas/base/ids.hpp"
#include "schemas/envelope.capnp.h"

namespace troupe {

// A name that a frame bears for its receiver, who may have set memory aside for its tensors under it (endpoint::expect).
// Sender and receiver come to it by themselves: it is never an address.
struct place_name {
    actor_number actor{}; // who receives; nobody: no name
    std::uint64_t number = 0;

    friend auto operator<=>(const place_name&, const place_name&) = default;
    explicit operator bool() const noexcept { return actor.value() != 0; }
};

class frame;
using frame_ptr = std::shared_ptr<const frame>;

// Cap'n Proto type id of a message body, used by dispatch, tracing and filters.
template <class Body>
constexpr std::uint64_t type_id_of() noexcept {
    return capnp::typeId<Body>();
}

class frame {
  public:
    frame(const frame&) = delete;
    frame& operator=(const frame&) = delete;
    // Cap'n Proto's message classes may throw from destructors; ours must not.
    virtual ~frame() noexcept = default;

    std::uint64_t body_type() const noexcept { return body_type_; }
    proto::Frame::Reader root() const noexcept { return root_; }
    proto::Envelope::Reader envelope() const { return root_.getEnvelope(); }

    template <class Body>
    typename Body::Reader body() const {
        TROUPE_CHECK(body_type_ == type_id_of<Body>(),
                     "a body is read as the type it was written as");
        return root_.getBody().getAs<Body>();
    }

    std::span<const tensor> tensors() const noexcept { return tensors_; }

    virtual place_name place() const noexcept { return {}; } // of a frame that is sent

    // The message's segments in memory.
    virtual kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments() const = 0;

    std::size_t tensor_bytes() const noexcept; // of all tensors
    std::size_t bytes() const;                 // of words and tensors

    actor_address from() const;
    actor_address to() const;

  protected:
    frame() = default;

    // Set by the derived class before the frame is shared.
    proto::Frame::Reader root_;
    std::uint64_t body_type_ = 0;
    std::vector<tensor> tensors_;
};

// The memory of a frame under construction: a message builder whose first segment is part of the object, so that a small
// message takes one allocation. Use it through frame_builder.
class built_frame final : public frame {
  public:
    built_frame();
    ~built_frame() noexcept override = default;

    place_name place() const noexcept override { return place_; }
    kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments() const override;

  private:
    template <class Body>
    friend class frame_builder;

    void freeze(std::uint64_t body_type);

    static constexpr std::size_t inline_words = 64;
    capnp::word first_segment_[inline_words];
    mutable capnp::MallocMessageBuilder message_;
    proto::Frame::Builder builder_;
    place_name place_;
};

// Builds one frame with a body of type Body.
//
//     frame_builder<proto::Gradient> gradient;
//     gradient.body().setMinibatch(42);
//     gradient.attach(std::move(input_gradient));
//     send(previous_stage, std::move(gradient));
template <class Body>
class frame_builder {
  public:
    frame_builder()
        : frame_{std::make_shared<built_frame>()},
          body_{frame_->builder_.getBody().template initAs<Body>()} {}

    typename Body::Builder body() { return body_; }
    proto::Envelope::Builder envelope() { return frame_->builder_.getEnvelope(); }

    // The tensor is shared from now on: its elements must not be written.
    void attach(tensor t) { frame_->tensors_.push_back(std::move(t)); }

    void name_place(place_name name) { frame_->place_ = name; }

    // The finished frame. The builder is empty afterwards.
    frame_ptr finish() && {
        frame_->freeze(type_id_of<Body>());
        return std::move(frame_);
    }

  private:
    std::shared_ptr<built_frame> frame_;
    typename Body::Builder body_;
};

// The names of data types in the schema and in C++ are the same.
proto::DataType to_proto(data_type type) noexcept;
// errc::protocol for a type that this build does not know.
result<data_type> from_proto(proto::DataType type);

} // namespace troupe
