#include "actors/data/samples/image_transforms.hpp"

#include <array>
#include <string>
#include <type_traits>

#include "schemas/base/random.hpp"

namespace troupe {

namespace {

// Separates these random numbers from all others.
constexpr std::uint64_t transform_purpose = 0x696d616765ull << 24;

struct image_size {
    std::size_t channels = 1;
    std::size_t height = 1;
    std::size_t width = 1;
};

image_size size_of(const tensor_shape& shape) {
    if (shape.rank() == 3)
        return {shape[0], shape[1], shape[2]};
    return {1, 1, shape.elements()};
}

// The source of a pixel: so far to its right and below, in the mirrored image if `mirrored`.
struct movement {
    std::ptrdiff_t right = 0;
    std::ptrdiff_t down = 0;
    bool mirrored = false;
};

movement movement_of(const image_transforms& t, std::uint64_t epoch_seed, std::uint32_t sample) {
    random_stream random{epoch_seed, sample};
    const auto shift = [&] {
        return static_cast<std::ptrdiff_t>(random.below(2 * t.shift_max + 1)) -
               static_cast<std::ptrdiff_t>(t.shift_max);
    };
    movement m;
    m.right = shift();
    m.down = shift();
    m.mirrored = t.mirror && random.below(2) == 1;
    return m;
}

// One channel's normalised values, from stored values.
class channel_values {
  public:
    channel_values(float mean, float deviation) : mean_{mean}, deviation_{deviation} {
        for (std::size_t byte = 0; byte < bytes_.size(); ++byte)
            bytes_[byte] = (*this)(static_cast<float>(byte) * (1.0f / 255.0f));
    }
    float operator()(float value) const noexcept { return (value - mean_) / deviation_; }
    float operator()(std::uint8_t byte) const noexcept { return bytes_[byte]; }
    float black() const noexcept { return bytes_[0]; }

  private:
    float mean_;
    float deviation_;
    std::array<float, 256> bytes_{};
};

template <class Value>
void move_channel(std::span<const Value> from, const image_size& size, const movement& m,
                  const channel_values& values, float* into) {
    const auto height = static_cast<std::ptrdiff_t>(size.height);
    const auto width = static_cast<std::ptrdiff_t>(size.width);
    for (std::ptrdiff_t y = 0; y < height; ++y) {
        const std::ptrdiff_t row = y + m.down;
        for (std::ptrdiff_t x = 0; x < width; ++x) {
            const std::ptrdiff_t at = (m.mirrored ? width - 1 - x : x) + m.right;
            const bool inside = row >= 0 && row < height && at >= 0 && at < width;
            *into++ =
                inside ? values(from[static_cast<std::size_t>(row * width + at)]) : values.black();
        }
    }
}

// One value for every channel, from a list with one value for all or one for each.
result<std::vector<float>> by_channel(capnp::List<float>::Reader given, const char* key,
                                      const column& images, float preset) {
    const std::size_t channels = size_of(images.shape).channels;
    if (given.size() == 0)
        return std::vector<float>(channels, preset);
    if (given.size() == 1)
        return std::vector<float>(channels, given[0]);
    if (given.size() != channels)
        return error{errc::data, std::string{key} + ": " + std::to_string(given.size()) +
                                     " values for images of " + to_string(images.shape) +
                                     "; give 1" +
                                     (channels > 1 ? " or " + std::to_string(channels) : "")};
    std::vector<float> values;
    for (const float value : given)
        values.push_back(value);
    return values;
}

} // namespace

result<image_transforms> make_image_transforms(proto::ImageTransforms::Reader options,
                                               const column& images, std::uint64_t seed) {
    if (images.type != data_type::float32)
        return error{errc::data, "data.images: the samples are tokens, not images"};
    if ((options.getCropPadding() > 0 || options.getFlip()) && images.shape.rank() != 3)
        return error{errc::data, "data.images: crop_padding and flip need images, but model.input "
                                 "is " +
                                     to_string(images.shape) +
                                     "; make it [channels, height, width]"};
    auto mean = by_channel(options.getMean(), "data.images.mean", images, 0.0f);
    if (!mean)
        return mean.failure();
    auto deviation = by_channel(options.getDeviation(), "data.images.deviation", images, 1.0f);
    if (!deviation)
        return deviation.failure();
    return image_transforms{std::move(*mean), std::move(*deviation), options.getCropPadding(),
                            options.getFlip(), seed};
}

image_transforms normalisation_of(image_transforms transforms) {
    transforms.shift_max = 0;
    transforms.mirror = false;
    return transforms;
}

void transform_images(const image_transforms& transforms, const column& images,
                      std::span<const std::uint32_t> indices, std::uint32_t epoch,
                      std::span<float> into) {
    const image_size size = size_of(images.shape);
    const std::size_t pixels = size.height * size.width;
    std::vector<channel_values> channels;
    for (std::size_t c = 0; c < size.channels; ++c)
        channels.emplace_back(transforms.mean[c], transforms.deviation[c]);
    const std::uint64_t epoch_seed =
        random_stream{transforms.seed, transform_purpose + epoch}.next();
    float* out = into.data();
    std::visit(
        [&]<class Value>(const std::vector<Value>&) {
            if constexpr (!std::is_same_v<Value, std::int32_t>)
                for (const std::uint32_t index : indices) {
                    const movement m = movement_of(transforms, epoch_seed, index);
                    for (std::size_t c = 0; c < size.channels; ++c, out += pixels)
                        move_channel(images.block<Value>(index).subspan(c * pixels, pixels), size,
                                     m, channels[c], out);
                }
        },
        *images.array);
}

} // namespace troupe
