// Where the pixels of images lie (kernels/ops/images.hpp), and which of them a window of a pool or a convolution covers.
#pragma once

#include "kernels/cuda/indices.hpp"
#include "kernels/ops/images.hpp"

namespace troupe::cuda {

// In memory images are planes of height x width pixels, each pixel `block` channels side by side.
template <class Index>
class image_places {
  public:
    struct place {
        Index plane, y, x, lane; // the lane is the channel within the block
    };

    image_places(const tensor_shape& shape, std::size_t block)
        : width_{static_cast<Index>(shape[3])}, height_{static_cast<Index>(shape[2])},
          block_{static_cast<Index>(block)}, planes_{static_cast<Index>(shape[1] / block)},
          by_width_{shape[3]}, by_height_{shape[2]}, by_block_{block}, by_planes_{shape[1] /
                                                                                  block} {}

    // The place of the element that is so many behind the first.
    __device__ place at(std::size_t offset) const {
        const auto pixel = by_block_.divide(static_cast<Index>(offset));
        const auto row = by_width_.divide(pixel.quotient);
        const auto plane = by_height_.divide(row.quotient);
        return {plane.quotient, plane.remainder, row.remainder, pixel.remainder};
    }
    __device__ place of_channel(Index sample, Index channel, Index y, Index x) const {
        const auto plane = by_block_.divide(channel);
        return {sample * planes_ + plane.quotient, y, x, plane.remainder};
    }
    __device__ Index offset(const place& p) const {
        return ((p.plane * height_ + p.y) * width_ + p.x) * block_ + p.lane;
    }
    // The channel of a place, as (sample, channel).
    __device__ division<Index> channel(const place& p) const {
        const auto plane = by_planes_.divide(p.plane);
        return {plane.quotient, plane.remainder * block_ + p.lane};
    }
    __device__ Index block() const { return block_; } // from one pixel of a row to the next

  private:
    Index width_, height_, block_, planes_;
    divisor<Index> by_width_, by_height_, by_block_, by_planes_;
};

// The windows along the height or the width of images.
template <class Index>
class axis_windows {
  public:
    struct range {
        Index first, end;
    };

    axis_windows(std::size_t size, std::size_t window, std::size_t stride, std::size_t padding)
        : size_{static_cast<Index>(size)}, window_{static_cast<Index>(window)},
          stride_{static_cast<Index>(stride)}, padding_{static_cast<Index>(padding)},
          count_{static_cast<Index>(windows_along(size, window, stride, padding))}, by_stride_{
                                                                                        stride} {}

    // Where window w begins; above the size where it begins in the padding before the image.
    __device__ Index begin(Index w) const { return w * stride_ - padding_; }
    // The range of an image that it covers, which must not be empty.
    __device__ range covered(Index w) const {
        const Index begin = w * stride_, end = begin + window_ - padding_;
        return {begin > padding_ ? begin - padding_ : 0, end < size_ ? end : size_};
    }
    // The windows that cover pixel p.
    __device__ range covering(Index p) const {
        const Index from = p + padding_;
        const Index end = by_stride_.quotient(from) + 1;
        return {from < window_ ? 0 : by_stride_.quotient(from - window_) + 1,
                end < count_ ? end : count_};
    }
    __device__ Index size() const { return size_; }
    __device__ Index window() const { return window_; }

  private:
    Index size_, window_, stride_, padding_, count_;
    divisor<Index> by_stride_;
};

} // namespace troupe::cuda
