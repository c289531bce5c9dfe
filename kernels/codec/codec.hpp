// How gradients are compressed on their way: what is sent in place of a tensor, and back.
//
// A codec is a pure description that all who take part share. What a sender keeps of each tensor between two gradients
// stands apart from it, as state, and belongs to a gradient_encoder. Both ends compute on a device.
//
// Most codecs lose something. Those that are not unbiased keep what is lost of a tensor and add it to the next gradient
// (error feedback): a = g + e; q = C(a); e' = a - D(q). So the sum of all D(q) and the last e is the sum of all g.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/codec/payload_form.hpp"
#include "kernels/codec/sparse_values.hpp"
#include "kernels/ops/codecs.hpp"
#include "schemas/topology.capnp.h"

namespace troupe {

class codec;
class low_rank_factors;
class payload_blocks;

using codec_ptr = std::shared_ptr<const codec>;

// Which encoding of which tensor. What is drawn by lot depends on it and on nothing else.
struct encode_place {
    std::uint64_t seed = 0;    // of the run
    std::uint32_t replica = 0; // the sender
    std::uint32_t tensor = 0;  // of its tensors
    std::uint64_t step = 0;    // counts this sender's encodings
    std::uint32_t epoch = 0;
    float scale = 1; // the gradient's own, where the codec clips
};

class codec : public payload_form {
  public:
    virtual std::string_view name() const noexcept = 0; // its key in an app file

    // What is kept beside a tensor of this shape, before the first encoding. errc::exhausted.
    virtual result<std::vector<tensor>> first_state(memory_pool& memory, const tensor_shape& shape,
                                                    const encode_place& at) const = 0;

    // The payload of a gradient; the state becomes that of the next. Both may be written by nobody else.
    virtual result<tensor> encode(compute_context& context, const tensor& gradient,
                                  std::span<tensor> state, const encode_place& at) const = 0;

    // Where payloads of this shape are sparse (ops/sparse.hpp): how many numbers one usually has.
    virtual std::optional<std::size_t> sparse_numbers(const tensor_shape&) const {
        return std::nullopt;
    }
    // How these numbers are written.
    virtual sparse_values values() const { return {}; }

    // Where a payload has a number of 16 bits for each of the tensor, whatever the others are: sums of some may be sent so,
    // too.
    virtual std::optional<half_format> half() const { return std::nullopt; }

    // Where what several senders send can be summed on its way, in two steps.
    virtual const low_rank_factors* low_rank() const { return nullptr; }

    // Where payloads can be cut, so that each of several receivers sums a block of the elements alone.
    virtual const payload_blocks* blocks() const { return nullptr; }

    // The norm of all gradients of a sender together is bounded by this first, divided by the root of the senders.
    virtual std::optional<float> clip_norm() const { return std::nullopt; }
};

// A codec whose payloads can be cut: the part that tells a block of neighbouring elements is the payload of a tensor of the
// block's shape, by check() and decode() of the same codec.
class payload_blocks {
  public:
    virtual ~payload_blocks() = default;

    // So many elements stay together, from the first on; the last ones may be fewer. Not 0.
    virtual std::size_t unit(const tensor_shape& shape) const = 0;
    // The shape of a block of so many elements of this tensor, whole units.
    virtual tensor_shape shape_of(const tensor_shape& shape, std::size_t elements) const = 0;
    // Of a payload that check() takes that of `count` elements, which begin with a unit. In host memory; it may share its
    // bytes with the payload. errc::exhausted, and errc::protocol for what no sender makes, where that is seen.
    virtual result<tensor> cut(memory_pool& memory, const tensor_shape& shape,
                               const tensor& payload, std::size_t first,
                               std::size_t count) const = 0;
    // How whoever sums blocks sends their sums; null: by the same codec.
    virtual codec_ptr of_sums() const { return nullptr; }
};

// A codec of matrices as products P' Q of thin ones, each linear in what is sent: summed over all senders, P first and then
// Q, they are the product for the sum of the gradients, and what each sends does not grow with the senders.
//
// A sender has state as first_state() makes it. Error feedback as in encode(): e' = a - P' Q of its own Q.
class low_rank_factors {
  public:
    virtual ~low_rank_factors() = default;

    struct factor_shapes {
        tensor_shape left, right; // P, Q
    };
    // None: a gradient of this shape is sent as it is.
    virtual std::optional<factor_shapes> shapes_of(const tensor_shape& shape) const = 0;

    // e becomes a = gradient + e; this sender's P.
    virtual result<tensor> left(compute_context& context, const tensor& gradient,
                                std::span<tensor> state) const = 0;
    // The summed P, made orthonormal.
    virtual result<tensor> basis(compute_context& context, const tensor& left_sum) const = 0;
    // This sender's Q; e becomes what is lost.
    virtual result<tensor> right(compute_context& context, const tensor& basis,
                                 std::span<tensor> state) const = 0;
    // output = P' Q. The next P begins from this Q, of all senders and of those that had no gradient.
    virtual result<void> product(compute_context& context, const tensor& basis,
                                 const tensor& right_sum, std::span<tensor> state,
                                 tensor& output) const = 0;
};

// What the app file asks for; null for `none`, for what layers give (sufficient_factors.hpp), and for what this build does
// not know.
codec_ptr make_codec(proto::GradientCodec::Reader description);

// A sender's side: one tensor after the other, with what is kept of each.
//
// Threads: one at a time.
class gradient_encoder {
  public:
    struct options {
        codec_ptr how;
        std::vector<tensor_shape> shapes;
        std::uint64_t seed = 0;
        std::uint32_t replica = 0;
        std::uint32_t replicas = 1;
    };
    explicit gradient_encoder(options options) : options_{std::move(options)} {}

    // The payloads of gradients first, first + 1, ... of a minibatch. They may come as they get ready, from the last to the
    // first, unless all are needed.
    result<std::vector<tensor>> encode(compute_context& context, std::size_t first,
                                       std::span<const tensor> gradients, std::uint32_t epoch);
    // Whether no payload is known before all of a minibatch's gradients are.
    bool needs_all() const { return options_.how->clip_norm().has_value(); }

    // What is kept beside each tensor; none before the first encoding.
    std::span<const std::vector<tensor>> state() const noexcept { return state_; }

  private:
    result<void> make_state(compute_context& context);
    result<float> scale_of(compute_context& context, std::span<const tensor> gradients) const;

    options options_;
    std::vector<std::vector<tensor>> state_;
    std::size_t encoded_from_ = 0; // of the last minibatch
    std::uint64_t step_ = 0;
};

} // namespace troupe
