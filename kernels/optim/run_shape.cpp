#include "kernels/optim/run_shape.hpp"

#include <algorithm>
#include <ranges>

namespace troupe {

batch_sizes batch_sizes::of(proto::Train::Reader train) {
    if (!train.hasBatchGrowth())
        return {.first = train.getBatch()};
    const auto growth = train.getBatchGrowth();
    return {.first = train.getBatch(),
            .every_epochs = growth.getEveryEpochs(),
            .factor = growth.getFactor(),
            .maximum = growth.getMaximum()};
}

std::uint32_t batch_sizes::at(std::uint32_t epoch) const noexcept {
    std::uint64_t size = first;
    for (std::uint32_t steps = every_epochs > 0 ? epoch / every_epochs : 0;
         steps > 0 && size < maximum; --steps)
        size = std::min<std::uint64_t>(size * factor, maximum);
    return static_cast<std::uint32_t>(size);
}

std::uint32_t largest_batch(proto::Train::Reader train) {
    return batch_sizes::of(train).at(std::max(train.getEpochs(), 1u) - 1);
}

run_shape run_shape::of(proto::Train::Reader train, std::uint64_t samples) {
    return {.samples = samples, .epochs = train.getEpochs(), .batch = batch_sizes::of(train)};
}

std::uint64_t run_shape::minibatches_of(std::uint32_t epoch) const noexcept {
    const std::uint64_t size = std::uint64_t{batch.at(epoch)} * together;
    return (samples + size - 1) / size;
}

std::uint64_t run_shape::minibatches_before(std::uint32_t epoch) const noexcept {
    std::uint64_t before = 0;
    for (std::uint64_t first = 0; first < epoch;) { // over epochs with minibatches of one size
        const bool grows =
            batch.every_epochs > 0 && batch.at(static_cast<std::uint32_t>(first)) < batch.maximum;
        const std::uint64_t next =
            grows ? std::min<std::uint64_t>(first + batch.every_epochs, epoch) : epoch;
        before += (next - first) * minibatches_of(static_cast<std::uint32_t>(first));
        first = next;
    }
    return before;
}

run_shape run_shape::in_rounds_of(std::uint32_t minibatches) const noexcept {
    run_shape rounds = *this;
    rounds.together *= minibatches;
    return rounds;
}

std::uint32_t run_shape::epoch_of(std::uint64_t minibatch) const noexcept {
    const auto ends_before = [&](std::uint32_t epoch) {
        return minibatches_before(epoch + 1) <= minibatch;
    };
    return *std::ranges::partition_point(std::views::iota(0u, epochs), ends_before);
}

} // namespace troupe
