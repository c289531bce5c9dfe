#include "actors/pipeline/gradient_buckets.hpp"

#include "kernels/optim/optimizer.hpp"

namespace troupe {

result<void> gradient_buckets::add(compute_context& context, std::size_t first,
                                   std::span<const tensor> gradients) {
    std::vector<tensor> own{gradients.begin(), gradients.end()};
    if (!sum_.empty()) {
        const auto begin = sum_.begin() + static_cast<std::ptrdiff_t>(first);
        std::vector<tensor> sums{
            std::move_iterator{begin},
            std::move_iterator{begin + static_cast<std::ptrdiff_t>(own.size())}};
        if (auto added = accumulate(context, sums, own); !added)
            return added;
        own = std::move(sums);
    }
    for (const tensor& t : own)
        bytes_ += t.bytes();
    bucket_.insert(bucket_.begin(), std::move_iterator{own.begin()}, std::move_iterator{own.end()});
    if (bytes_ >= bucket_bytes_min) {
        give_(first, std::exchange(bucket_, {}));
        bytes_ = 0;
    }
    return {};
}

result<std::vector<tensor>> gradient_buckets::rest(compute_context& context,
                                                   std::span<const tensor> statistics) {
    std::vector<tensor> own{statistics.begin(), statistics.end()};
    if (!sum_.empty()) {
        std::vector<tensor> sums{
            std::move_iterator{sum_.end() - static_cast<std::ptrdiff_t>(own.size())},
            std::move_iterator{sum_.end()}};
        if (auto added = accumulate(context, sums, own); !added)
            return added.failure();
        own = std::move(sums);
    }
    std::vector<tensor> left = std::move(bucket_);
    left.insert(left.end(), std::move_iterator{own.begin()}, std::move_iterator{own.end()});
    return left;
}

} // namespace troupe
