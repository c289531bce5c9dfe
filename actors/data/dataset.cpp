#include "actors/data/dataset.hpp"

#include "actors/data/idx_reader.hpp"
#include "actors/data/synthetic.hpp"

namespace troupe {

result<data_sets> load_data(proto::Data::Reader data, const tensor_shape& input,
                            std::uint64_t seed) {
    switch (data.which()) {
    case proto::Data::SYNTHETIC:
        return make_synthetic_data(data.getSynthetic(), input, seed);
    case proto::Data::IDX:
        break;
    }
    const auto idx = data.getIdx();
    auto train = read_idx_dataset(
        {idx.getTrainImages().cStr(), idx.getTrainLabels().cStr(), "data.idx.train"}, input);
    if (!train)
        return train.failure();
    auto test = read_idx_dataset(
        {idx.getTestImages().cStr(), idx.getTestLabels().cStr(), "data.idx.test"}, input);
    if (!test)
        return test.failure();
    return data_sets{std::move(*train), std::move(*test)};
}

result<void> check_labels(const dataset& data, std::size_t outputs) {
    if (data.classes <= outputs)
        return {};
    for (std::size_t i = 0; i < data.size(); ++i)
        if (static_cast<std::size_t>(data.labels[i]) >= outputs)
            return error{errc::data, data.name + ": sample " + std::to_string(i) + " has label " +
                                         std::to_string(data.labels[i]) + ", but the model has " +
                                         std::to_string(outputs) +
                                         " outputs; give the last layer at least " +
                                         std::to_string(data.classes)};
    TROUPE_CHECK(false, "classes is the largest label + 1");
}

} // namespace troupe
