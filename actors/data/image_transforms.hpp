// What is done to images on their way into a minibatch.
//
// Normalisation is for all of them. Training images may besides be shifted, with black where they came from, and mirrored:
// by a pure function of seed, epoch and the sample's number, so that the same seed gives the same minibatches whoever
// makes them, in whatever order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "actors/data/column.hpp"
#include "schemas/app.capnp.h"
#include "schemas/base/error.hpp"

namespace troupe {

struct image_transforms {
    std::vector<float> mean;      // by channel: of values from 0 to 1
    std::vector<float> deviation; // by channel: what the difference to the mean is divided by
    std::size_t shift_max = 0;    // pixels in each direction
    bool mirror = false;          // every other image, left to right
    std::uint64_t seed = 0;
};

// As the app file's `data.images` wants for images like these. errc::data, "KEY: SENTENCE", for what does not fit them.
result<image_transforms> make_image_transforms(proto::ImageTransforms::Reader options,
                                               const column& images, std::uint64_t seed);

// What is left for test images.
image_transforms normalisation_of(image_transforms transforms);

// The images (channels, height, width), or (...) as one channel, of a column at `indices`, as they are in this epoch,
// written one behind the other.
void transform_images(const image_transforms& transforms, const column& images,
                      std::span<const std::uint32_t> indices, std::uint32_t epoch,
                      std::span<float> into);

} // namespace troupe
