#include "actors/data/samples/batches.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

#include "schemas/base/random.hpp"

namespace troupe {

namespace {

// Separates the random numbers of the order from all others.
constexpr std::uint64_t order_purpose = 0x6f72646572ull << 24;

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

namespace {

template <class Out, class Value>
Out converted(Value value) noexcept {
    if constexpr (std::is_same_v<Value, std::uint8_t> && std::is_same_v<Out, float>)
        return static_cast<float>(value) * (1.0f / 255.0f); // 255 gives exactly 1
    else
        return static_cast<Out>(value);
}

template <class Out, class Value>
void gather(const column& from, std::span<const std::uint32_t> indices, tensor& into) {
    Out* out = into.mutable_values<Out>().data();
    for (const std::uint32_t index : indices)
        for (const Value value : from.block<Value>(index))
            *out++ = converted<Out>(value);
}

// The blocks of a column at `indices`, gathered into one tensor.
result<tensor> gather(const column& from, std::span<const std::uint32_t> indices,
                      memory_pool& memory) {
    auto into = tensor::allocate(memory, from.type, batch_of(indices.size(), from.shape));
    if (!into)
        return into;
    std::visit(
        [&]<class Value>(const std::vector<Value>&) {
            if (from.type == data_type::float32)
                gather<float, Value>(from, indices, *into);
            else
                gather<std::int32_t, Value>(from, indices, *into);
        },
        *from.array);
    return into;
}

result<tensor> transformed(const dataset& data, std::span<const std::uint32_t> indices,
                           std::uint32_t epoch, memory_pool& memory) {
    auto into =
        tensor::allocate(memory, data_type::float32, batch_of(indices.size(), data.inputs.shape));
    if (into)
        transform_images(*data.transforms, data.inputs, indices, epoch,
                         into->mutable_values<float>());
    return into;
}

} // namespace

result<batch> fill_batch(const dataset& data, std::span<const std::uint32_t> indices,
                         std::uint32_t epoch, memory_pool& memory) {
    for (const std::uint32_t index : indices)
        TROUPE_CHECK(index < data.size(), "a minibatch names samples of its data set");
    auto input = data.transforms ? transformed(data, indices, epoch, memory)
                                 : gather(data.inputs, indices, memory);
    if (!input)
        return input.failure();
    if (data.labels_are_inputs)
        return batch{*input, input->reshaped(batch_of(indices.size(), data.labels.shape))};
    auto labels = gather(data.labels, indices, memory);
    if (!labels)
        return labels.failure();
    return batch{std::move(*input), std::move(*labels)};
}

} // namespace troupe
