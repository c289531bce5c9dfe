// Gradient compression: codecs encode a gradient as a payload, which is sent in its place, and decode it.
//
// A codec is a pure description that all senders and receivers share. The tensors that a sender keeps for each gradient
// between two encodings are separate, as state, and belong to a gradient_encoder. Both ends compute on a device.
//
// Most codecs are lossy. Those that are not unbiased keep the error of a tensor's encoding and add it to the next gradient
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

// Identifies one encoding of one tensor. A codec's random numbers depend on nothing else.
struct encode_place {
    std::uint64_t seed = 0;    // of the run
    std::uint32_t replica = 0; // the sender
    std::uint32_t tensor = 0;  // number among the sender's tensors
    std::uint64_t step = 0;    // counts this sender's encodings
    std::uint32_t epoch = 0;
    float scale = 1; // factor on the gradient, where the codec clips
};

class codec : public payload_form {
  public:
    virtual std::string_view name() const noexcept = 0; // its key in an app file

    // The state of a tensor of this shape before its first encoding. errc::exhausted.
    virtual result<std::vector<tensor>> first_state(memory_pool& memory, const tensor_shape& shape,
                                                    const encode_place& at) const = 0;

    // The payload of a gradient; updates the state for the next one. Nobody else may write either.
    virtual result<tensor> encode(compute_context& context, const tensor& gradient,
                                  std::span<tensor> state, const encode_place& at) const = 0;

    // The usual number of numbers in a payload of this shape, if payloads are sparse (ops/sparse.hpp); else nullopt.
    virtual std::optional<std::size_t> sparse_numbers(const tensor_shape&) const {
        return std::nullopt;
    }
    // The form of these numbers.
    virtual sparse_values values() const { return {}; }

    // The format of a payload that has one number of 16 bits for each of the tensor, independent of the others: sums can
    // then be sent in this format, too. Else nullopt.
    virtual std::optional<half_format> half() const { return std::nullopt; }

    // The factors of codecs whose payloads can be summed on the way, in two steps; else null.
    virtual const low_rank_factors* low_rank() const { return nullptr; }

    // The blocks of codecs whose payloads can be cut, so that each of several receivers sums one block of elements; else
    // null.
    virtual const payload_blocks* blocks() const { return nullptr; }

    // The norm that all gradients of a sender together are first clipped to, divided by the root of the number of senders.
    virtual std::optional<float> clip_norm() const { return std::nullopt; }
};

// The cutting of a codec's payloads into blocks: the part for a block of consecutive elements is a payload of a tensor of
// the block's shape, for check() and decode() of the same codec.
class payload_blocks {
  public:
    virtual ~payload_blocks() = default;

    // Elements that must stay together, counted from the first one; the last unit may be smaller. Not 0.
    virtual std::size_t unit(const tensor_shape& shape) const = 0;
    // The shape of a block of so many elements of this tensor, which are whole units.
    virtual tensor_shape shape_of(const tensor_shape& shape, std::size_t elements) const = 0;
    // Cuts the part for `count` elements, which begin with a unit, from a payload that check() has passed. In host memory;
    // the part may share its bytes with the payload. errc::exhausted, and errc::protocol if it notices a payload that no
    // sender makes.
    virtual result<tensor> cut(memory_pool& memory, const tensor_shape& shape,
                               const tensor& payload, std::size_t first,
                               std::size_t count) const = 0;
    // The codec for sums of blocks; null: the same one.
    virtual codec_ptr of_sums() const { return nullptr; }
};

// The factors of a codec that sends matrices as products P' Q of thin ones. Both are linear: summed over all senders, first
// P and then Q, they give the product for the sum of the gradients, and the bytes sent do not grow with the senders.
//
// A sender has the state that first_state() makes. Error feedback as in encode(): e' = a - P' Q with the sender's own Q.
class low_rank_factors {
  public:
    virtual ~low_rank_factors() = default;

    struct factor_shapes {
        tensor_shape left, right; // P, Q
    };
    // nullopt: a gradient of this shape is sent without compression.
    virtual std::optional<factor_shapes> shapes_of(const tensor_shape& shape) const = 0;

    // This sender's P; sets e to a = gradient + e.
    virtual result<tensor> left(compute_context& context, const tensor& gradient,
                                std::span<tensor> state) const = 0;
    // The summed P, made orthonormal.
    virtual result<tensor> basis(compute_context& context, const tensor& left_sum) const = 0;
    // This sender's Q; sets e to the error.
    virtual result<tensor> right(compute_context& context, const tensor& basis,
                                 std::span<tensor> state) const = 0;
    // output = P' Q. The next P begins from this Q, at all senders, also those that had no gradient.
    virtual result<void> product(compute_context& context, const tensor& basis,
                                 const tensor& right_sum, std::span<tensor> state,
                                 tensor& output) const = 0;
};

// The codec that the app file asks for; null for `none`, for sufficient factors, which layers make (sufficient_factors.hpp),
// and for a codec that this build does not know.
codec_ptr make_codec(proto::GradientCodec::Reader description);

// A sender's encoder of several tensors, with the state of each.
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

    // The payloads of gradients first, first + 1, ... of a minibatch. Calls may follow one another as gradients get ready,
    // from the last to the first, unless needs_all().
    result<std::vector<tensor>> encode(compute_context& context, std::size_t first,
                                       std::span<const tensor> gradients, std::uint32_t epoch);
    // True if all gradients of a minibatch must be there before any payload can be made.
    bool needs_all() const { return options_.how->clip_norm().has_value(); }

    // The state of each tensor; empty before the first encoding.
    std::span<const std::vector<tensor>> state() const noexcept { return state_; }

  private:
    result<void> make_state(compute_context& context);
    result<float> scale_of(compute_context& context, std::span<const tensor> gradients) const;

    options options_;
    std::vector<std::vector<tensor>> state_;
    std::size_t encoded_from_ = 0; // first encoded gradient of the last minibatch
    std::uint64_t step_ = 0;
};

} // namespace troupe
