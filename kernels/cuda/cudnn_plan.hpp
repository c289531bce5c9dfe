// How cuDNN computes a convolution of some shape: an engine of its, chosen by shape, GPU and version alone, and the scratch
// memory that it needs.
//
// Engines are asked of cuDNN's heuristics, the fastest first, and the first that will do is taken. It gives the same bits
// every time; it takes numbers as they are, or rounded to TF32 where that is allowed, and nothing coarser; it transforms no
// numbers (Winograd, Fourier); it is compiled already, for what is compiled at run time takes seconds for each shape, and
// depends on one more library.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cuda/cudnn_api.hpp"

namespace troupe::cuda {

enum class conv_direction : std::uint8_t { forward, to_input, to_weight };

// The tensors of a convolution; the direction says which of them is computed from the other two.
enum conv_tensor : std::uint8_t { conv_images, conv_weight, conv_windows };
inline constexpr std::size_t conv_tensors = 3;
constexpr conv_tensor result_of(conv_direction d) noexcept {
    return d == conv_direction::forward    ? conv_windows
           : d == conv_direction::to_input ? conv_images
                                           : conv_weight;
}

// Of row-major float32. Groups follow from the channels of images and weight.
struct conv_shape {
    conv_direction direction;
    std::array<std::array<std::int64_t, 4>, conv_tensors> tensors;
    std::int64_t stride, padding;
    bool may_round; // to TF32

    friend auto operator<=>(const conv_shape&, const conv_shape&) = default;
};

// What an engine may take of scratch memory: as much as the operands hold, which it may reorder, and a little more.
std::size_t workspace_bytes_max(const conv_shape& shape) noexcept;

// The GPU that a plan is for: that of a handle, or without one that of a finished descriptor of its properties (for tests
// on machines without a GPU; cuDNN 9.8 or later).
struct conv_target {
    dnn::cudnnHandle_t handle = nullptr;
    dnn::cudnnBackendDescriptor_t properties = nullptr;
};

// cuDNN asks for addresses that are multiples of so much.
inline constexpr std::size_t cudnn_alignment = 16;

// Owns descriptors.
class cudnn_descriptors {
  public:
    explicit cudnn_descriptors(const dnn::functions& cudnn) : cudnn_{&cudnn} {}
    cudnn_descriptors(cudnn_descriptors&& other) noexcept
        : cudnn_{other.cudnn_}, all_{std::exchange(other.all_, {})} {}
    ~cudnn_descriptors();

    dnn::cudnnStatus_t add(dnn::cudnnBackendDescriptorType_t type,
                           dnn::cudnnBackendDescriptor_t& made);
    // One of another owner's.
    void take(cudnn_descriptors& from, dnn::cudnnBackendDescriptor_t taken);

  private:
    const dnn::functions* cudnn_;
    std::vector<dnn::cudnnBackendDescriptor_t> all_;
};

class cudnn_plan {
  public:
    // None where cuDNN does not take the shape.
    static std::optional<cudnn_plan> make(const dnn::functions& cudnn, const conv_target& target,
                                          const conv_shape& shape);

    std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }

    // Puts it into the stream of the handle.
    dnn::cudnnStatus_t run(const dnn::functions& cudnn, dnn::cudnnHandle_t handle,
                           const std::array<void*, conv_tensors>& operands, void* workspace) const;

  private:
    explicit cudnn_plan(cudnn_descriptors parts) : parts_{std::move(parts)} {}

    cudnn_descriptors parts_; // of the graph: a plan may look at them
    dnn::cudnnBackendDescriptor_t plan_ = nullptr;
    std::size_t workspace_bytes_ = 0;
};

} // namespace troupe::cuda
