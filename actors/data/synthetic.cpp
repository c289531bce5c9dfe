#include "actors/data/synthetic.hpp"

#include <algorithm>

#include "schemas/base/limits.hpp"
#include "schemas/base/random.hpp"

namespace troupe {

namespace {

// What the random numbers are for; see random_stream.
enum purpose : std::uint64_t { prototypes = 0x70726f746f00, train_noise, test_noise };

// Eight random bytes per number, in little-endian order on every machine.
void fill_random(std::span<std::uint8_t> bytes, random_stream& random) {
    for (std::size_t i = 0; i < bytes.size(); i += 8) {
        std::uint64_t word = random.next();
        for (std::size_t k = i; k < std::min(i + 8, bytes.size()); ++k, word >>= 8)
            bytes[k] = static_cast<std::uint8_t>(word);
    }
}

dataset mix(const char* name, std::span<const std::uint8_t> prototype, const tensor_shape& shape,
            std::size_t classes, std::size_t count, random_stream noise) {
    const std::size_t elements = shape.elements();
    dataset data{
        name, shape, std::min(classes, count), std::vector<std::uint8_t>(count * elements), {}};
    data.labels.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t label = i % classes;
        const std::span sample{data.samples.data() + i * elements, elements};
        fill_random(sample, noise);
        for (std::size_t k = 0; k < elements; ++k)
            sample[k] =
                static_cast<std::uint8_t>((sample[k] + prototype[label * elements + k]) / 2);
        data.labels.push_back(static_cast<std::int32_t>(label));
    }
    return data;
}

} // namespace

result<data_sets> make_synthetic_data(proto::SyntheticData::Reader options,
                                      const tensor_shape& input, std::uint64_t seed) {
    const std::size_t train = options.getTrainSamples();
    const std::size_t test = options.getTestSamples();
    const std::size_t classes = options.getClasses();
    std::uint64_t bytes = std::max({train, test, classes});
    for (const std::size_t dimension : input.dimensions()) {
        if (dimension != 0 && bytes > limits::dataset_bytes_max / dimension)
            return error{errc::data, "data.synthetic: the samples would take more than " +
                                         std::to_string(limits::dataset_bytes_max) +
                                         " bytes; ask for fewer"};
        bytes *= dimension;
    }
    std::vector<std::uint8_t> prototype(classes * input.elements());
    random_stream random{seed, purpose::prototypes};
    fill_random(prototype, random);
    return data_sets{mix("synthetic training data", prototype, input, classes, train,
                         random_stream{seed, train_noise}),
                     mix("synthetic test data", prototype, input, classes, test,
                         random_stream{seed, test_noise})};
}

} // namespace troupe
