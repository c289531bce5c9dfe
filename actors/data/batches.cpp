#include "actors/data/batches.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "schemas/base/random.hpp"

namespace troupe {

namespace {

constexpr std::uint64_t order_purpose = 0x6f72646572ull
                                        << 24; // keeps the order's numbers apart from all others

} // namespace

std::vector<std::uint32_t> file_order(std::size_t samples) {
    std::vector<std::uint32_t> order(samples);
    std::iota(order.begin(), order.end(), 0u);
    return order;
}

std::vector<std::uint32_t> epoch_order(std::uint64_t seed, std::uint32_t epoch,
                                       std::size_t samples) {
    std::vector<std::uint32_t> order = file_order(samples);
    random_stream random{seed, order_purpose + epoch};
    for (std::size_t i = samples; i > 1; --i)
        std::swap(order[i - 1], order[random.below(i)]);
    return order;
}

batch_plan::batch_plan(std::vector<std::uint32_t> order, std::size_t batch)
    : order_{std::move(order)}, batch_{batch} {
    TROUPE_CHECK(batch > 0, "a minibatch has samples");
}

std::size_t batch_plan::batches() const noexcept {
    return (order_.size() + batch_ - 1) / batch_;
}

std::span<const std::uint32_t> batch_plan::indices(std::size_t index) const noexcept {
    TROUPE_CHECK(index < batches(), "the minibatch is one of the epoch");
    const std::size_t first = index * batch_;
    return std::span{order_}.subspan(first, std::min(batch_, order_.size() - first));
}

result<batch> fill_batch(const dataset& data, std::span<const std::uint32_t> indices,
                         memory_pool& memory) {
    auto input =
        tensor::allocate(memory, data_type::float32, batch_of(indices.size(), data.sample_shape));
    if (!input)
        return input.failure();
    auto labels = tensor::allocate(memory, data_type::int32, tensor_shape{indices.size()});
    if (!labels)
        return labels.failure();
    float* out = input->mutable_values<float>().data();
    std::int32_t* label = labels->mutable_values<std::int32_t>().data();
    for (const std::uint32_t index : indices) {
        TROUPE_CHECK(index < data.size(), "a minibatch names samples of its data set");
        for (const std::uint8_t value : data.sample(index))
            *out++ = static_cast<float>(value) * (1.0f / 255.0f); // 255 gives exactly 1
        *label++ = data.labels[index];
    }
    return batch{std::move(*input), std::move(*labels)};
}

} // namespace troupe
