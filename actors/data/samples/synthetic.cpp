#include "actors/data/samples/synthetic.hpp"

#include <algorithm>

#include "schemas/base/limits.hpp"
#include "schemas/base/random.hpp"

namespace troupe {

namespace {

// Purposes of random numbers; see random_stream.
enum purpose : std::uint64_t { prototypes = 0x70726f746f00, train_noise, test_noise };

struct sample_plan {
    tensor_shape shape;
    std::size_t classes = 0;
    std::size_t vocabulary = 0;    // 0: bytes
    std::size_t source_length = 0; // positions without a label
};

// One of the two data sets.
struct drawn_part {
    const char* name;
    std::size_t samples;
    std::uint64_t noise;
};

// Eight random bytes per number, in little-endian order on every machine.
void fill_random(std::span<std::uint8_t> bytes, random_stream& random) {
    for (std::size_t i = 0; i < bytes.size(); i += 8) {
        std::uint64_t word = random.next();
        for (std::size_t k = i; k < std::min(i + 8, bytes.size()); ++k, word >>= 8)
            bytes[k] = static_cast<std::uint8_t>(word);
    }
}

void fill_random(std::span<std::int32_t> tokens, std::size_t vocabulary, random_stream& random) {
    for (std::int32_t& token : tokens)
        token = static_cast<std::int32_t>(random.below(vocabulary));
}

std::vector<std::uint8_t> mix_bytes(const sample_plan& plan, std::size_t samples,
                                    random_stream shared, random_stream noise) {
    const std::size_t elements = plan.shape.elements();
    std::vector<std::uint8_t> prototype(plan.classes * elements);
    fill_random(prototype, shared);
    std::vector<std::uint8_t> values(samples * elements);
    for (std::size_t i = 0; i < samples; ++i) {
        const std::span sample{values.data() + i * elements, elements};
        fill_random(sample, noise);
        const std::size_t first = i % plan.classes * elements;
        for (std::size_t k = 0; k < elements; ++k)
            sample[k] = static_cast<std::uint8_t>((sample[k] + prototype[first + k]) / 2);
    }
    return values;
}

std::vector<std::int32_t> mix_tokens(const sample_plan& plan, std::size_t samples,
                                     random_stream shared, random_stream noise) {
    const std::size_t elements = plan.shape.elements();
    std::vector<std::int32_t> prototype(plan.classes * elements);
    fill_random(prototype, plan.vocabulary, shared);
    std::vector<std::int32_t> values(samples * elements);
    fill_random(values, plan.vocabulary, noise);
    for (std::size_t i = 0; i < samples; ++i)
        for (std::size_t k = 0; k < elements; ++k)
            if (noise.below(2) == 0)
                values[i * elements + k] = prototype[i % plan.classes * elements + k];
    return values;
}

// Walks, each of one token more than a sample has.
std::vector<std::int32_t> walk_tokens(const sample_plan& plan, std::size_t samples,
                                      random_stream shared, random_stream noise) {
    std::vector<std::int32_t> successor(plan.vocabulary);
    fill_random(successor, plan.vocabulary, shared);
    const std::size_t length = plan.shape.elements() + 1;
    std::vector<std::int32_t> values(samples * length);
    fill_random(values, plan.vocabulary, noise);
    for (std::size_t i = 0; i < values.size(); ++i)
        if (i % length != 0 && noise.below(4) != 0)
            values[i] = successor[static_cast<std::size_t>(values[i - 1])];
    return values;
}

dataset make_part(const drawn_part& p, const sample_plan& plan, bool next_token,
                  std::uint64_t seed) {
    const random_stream shared{seed, prototypes};
    const random_stream noise{seed, p.noise};
    dataset data{p.name, "data.synthetic.classes", p.samples, {}, {}};
    data.inputs_key = "data.synthetic.vocabulary";
    if (next_token) {
        data.key = "data.synthetic.vocabulary";
        data.inputs =
            make_column(walk_tokens(plan, p.samples, shared, noise), data_type::int32, plan.shape);
        data.inputs.stride = plan.shape.elements() + 1;
        data.labels = data.inputs;
        data.labels.first = plan.source_length + 1;
        if (plan.source_length > 0)
            data.labels.shape = {plan.shape.elements() - plan.source_length};
        return data;
    }
    if (plan.vocabulary == 0)
        data.inputs =
            make_column(mix_bytes(plan, p.samples, shared, noise), data_type::float32, plan.shape);
    else
        data.inputs =
            make_column(mix_tokens(plan, p.samples, shared, noise), data_type::int32, plan.shape);
    std::vector<std::int32_t> labels(p.samples);
    for (std::size_t i = 0; i < p.samples; ++i)
        labels[i] = static_cast<std::int32_t>(i % plan.classes);
    data.labels = make_column(std::move(labels), data_type::int32, {});
    return data;
}

// True if this number of samples, or prototypes, is within the limit of a data set.
bool within_limit(std::size_t samples, const sample_plan& plan, bool next_token) {
    std::uint64_t bytes = samples * std::uint64_t{plan.vocabulary > 0 ? 4u : 1u};
    for (const std::size_t dimension : plan.shape.dimensions()) {
        if (dimension != 0 && bytes > limits::dataset_bytes_max / dimension)
            return false;
        bytes *= dimension;
    }
    return !next_token || bytes + samples * 4 <= limits::dataset_bytes_max;
}

} // namespace

result<data_sets> make_synthetic_data(proto::SyntheticData::Reader options,
                                      const tensor_shape& input, std::uint64_t seed) {
    const drawn_part train{"synthetic training data", options.getTrainSamples(), train_noise};
    const drawn_part test{"synthetic test data", options.getTestSamples(), test_noise};
    const sample_plan plan{input, options.getClasses(), options.getVocabulary(),
                           options.getSourceLength()};
    const bool next_token = options.getNextToken();
    if (next_token && plan.vocabulary == 0)
        return error{errc::data, "data.synthetic.next_token: samples are numbers, not tokens; give "
                                 "data.synthetic.vocabulary"};
    if (plan.source_length > 0 && (!next_token || plan.source_length >= input.elements()))
        return error{errc::data,
                     "data.synthetic.source_length: " + std::to_string(plan.source_length) +
                         " positions without a label need next_token and more than so "
                         "many positions in a sample, which has " +
                         std::to_string(input.elements())};
    if (!within_limit(std::max({train.samples, test.samples, plan.classes}), plan, next_token))
        return error{errc::data, "data.synthetic: the samples would take more than " +
                                     std::to_string(limits::dataset_bytes_max) +
                                     " bytes; ask for fewer"};
    return data_sets{make_part(train, plan, next_token, seed),
                     make_part(test, plan, next_token, seed)};
}

} // namespace troupe
