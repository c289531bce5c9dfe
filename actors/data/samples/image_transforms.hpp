// Transforms of images when they are put into a minibatch.
//
// All images are normalised. Training images may also be shifted, with black in the uncovered pixels, and mirrored, by a
// pure function of seed, epoch and sample number: the same seed gives the same minibatches, whichever thread makes them and
// in whatever order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "actors/data/samples/column.hpp"
#include "schemas/app.capnp.h"
#include "schemas/base/error.hpp"

namespace troupe {

struct image_transforms {
    std::vector<float> mean;      // by channel, of values from 0 to 1
    std::vector<float> deviation; // by channel: divisor after subtracting the mean
    std::size_t shift_max = 0;    // pixels in each direction
    bool mirror = false;          // mirrors half of the images left to right, at random
    std::uint64_t seed = 0;
};

// The transforms that the app file's `data.images` asks for, for images of this column. errc::data, "KEY: SENTENCE", if
// they do not fit the images.
result<image_transforms> make_image_transforms(proto::ImageTransforms::Reader options,
                                               const column& images, std::uint64_t seed);

// The transforms without augmentation, for test images.
image_transforms normalisation_of(image_transforms transforms);

// Writes the images of a column at `indices`, transformed for this epoch, one after another. Images are (channels, height,
// width), or of another shape as one channel.
void transform_images(const image_transforms& transforms, const column& images,
                      std::span<const std::uint32_t> indices, std::uint32_t epoch,
                      std::span<float> into);

} // namespace troupe
