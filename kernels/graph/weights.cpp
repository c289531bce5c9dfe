#include "kernels/graph/weights.hpp"

#include "schemas/base/check.hpp"

namespace troupe {

std::vector<tensor> weights::tensors() const {
    std::vector<tensor> all = parameters;
    all.insert(all.end(), state.begin(), state.end());
    all.insert(all.end(), averages.begin(), averages.end());
    return all;
}

weights_ptr for_passes(const weights& w) {
    return std::make_shared<weights>(weights{w.version, w.parameters, {}, {}, w.averages});
}

weights_layout::weights_layout(std::span<const parameter_info> parameters,
                               std::span<const average_info> averages,
                               std::span<const std::string_view> state)
    : parameters_{parameters.size()}, averages_{averages.size()} {
    for (const auto& parameter : parameters)
        entries_.push_back({parameter.name, parameter.shape, false});
    for (const auto& parameter : parameters)
        for (const std::string_view kind : state)
            entries_.push_back({std::string{kind} + "." + parameter.name, parameter.shape, true});
    for (const auto& average : averages)
        entries_.push_back({average.name, average.shape, false});
}

std::size_t weights_layout::parameter_of(std::size_t state) const noexcept {
    const std::size_t kinds = (entries_.size() - averages_) / parameters_ - 1;
    return (state - parameters_) / kinds;
}

std::size_t weights_layout::bytes() const noexcept {
    std::size_t bytes = 0;
    for (const entry& e : entries_)
        bytes += e.shape.elements() * sizeof(float);
    return bytes;
}

std::size_t weights_layout::state_bytes() const noexcept {
    std::size_t bytes = 0;
    for (const entry& e : entries_)
        bytes += e.is_state ? e.shape.elements() * sizeof(float) : 0;
    return bytes;
}

result<void> weights_layout::check(std::span<const tensor> tensors, std::size_t counts) const {
    if (counts != parameters_)
        return error{errc::data, "there are " + std::to_string(counts) +
                                     " counts of updates, this stage has " +
                                     std::to_string(parameters_) + " parameters"};
    if (tensors.size() != entries_.size())
        return error{errc::data, "there are " + std::to_string(tensors.size()) +
                                     " tensors of weights, this stage needs " +
                                     std::to_string(entries_.size())};
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (!tensors[i] || tensors[i].type() != data_type::float32 ||
            tensors[i].shape() != entries_[i].shape)
            return error{errc::data, entries_[i].name + " is " +
                                         std::string{to_string(tensors[i].type())} + " " +
                                         to_string(tensors[i].shape()) +
                                         ", the model has float32 " + to_string(entries_[i].shape)};
    return {};
}

weights_ptr weights_layout::assemble(weight_version version, std::span<const tensor> tensors,
                                     std::vector<std::uint64_t> updates) const {
    TROUPE_CHECK(tensors.size() == entries_.size() && updates.size() == parameters_,
                 "the tensors and counts were checked");
    auto made = std::make_shared<weights>();
    made->version = version;
    const auto all = [](std::span<const tensor> some) {
        return std::vector<tensor>(some.begin(), some.end());
    };
    made->parameters = all(tensors.first(parameters_));
    made->state = all(tensors.subspan(parameters_, tensors.size() - parameters_ - averages_));
    made->updates = std::move(updates);
    made->averages = all(tensors.last(averages_));
    return made;
}

} // namespace troupe
