#include "actors/pipeline/stage/gradient_buckets.hpp"

#include <algorithm>

#include "kernels/ops/ops.hpp"
#include "kernels/optim/optimizer.hpp"

namespace troupe {

result<void> gradient_buckets::add(compute_context& context, std::size_t first,
                                   std::span<const tensor> gradients) {
    std::vector<tensor> own{gradients.begin(), gradients.end()};
    const std::vector<bool> as_factors = this->as_factors(first, own.size());
    if (!sum_.empty()) {
        const auto begin = sum_.begin() + static_cast<std::ptrdiff_t>(first);
        std::vector<tensor> sums{
            std::move_iterator{begin},
            std::move_iterator{begin + static_cast<std::ptrdiff_t>(own.size())}};
        if (auto added = accumulate(context, sums, own, as_factors); !added)
            return added;
        own = std::move(sums);
    }
    for (const tensor& t : own)
        bytes_ += t.bytes();
    bucket_.insert(bucket_.begin(), std::move_iterator{own.begin()}, std::move_iterator{own.end()});
    const bool is_enough = bytes_ >= bucket_bytes_min || std::ranges::count(as_factors, true) > 0;
    if (!is_enough || (how_.encoder && how_.encoder->needs_all()))
        return {};
    auto bucket = take_bucket(context, first);
    if (!bucket)
        return bucket.failure();
    // The receiver reads the bucket at once: copies to the host and the device's work on it must be done.
    if (auto out = copy_to_host(context, *bucket); !out)
        return out;
    if (auto there = context.ops.wait(); !there)
        return there;
    give_(first, std::move(*bucket));
    return {};
}

std::vector<bool> gradient_buckets::as_factors(std::size_t first, std::size_t count) const {
    if (how_.as_factors.empty())
        return {};
    const auto begin = how_.as_factors.begin() + static_cast<std::ptrdiff_t>(first);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

result<std::vector<tensor>> gradient_buckets::take_bucket(compute_context& context,
                                                          std::size_t first) {
    bytes_ = 0;
    std::vector<tensor> bucket = std::exchange(bucket_, {});
    if (how_.encoder && !bucket.empty())
        return how_.encoder->encode(context, first, bucket, how_.epoch);
    return bucket;
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
    auto left = take_bucket(context, 0);
    if (left)
        left->insert(left->end(), std::move_iterator{own.begin()}, std::move_iterator{own.end()});
    return left;
}

} // namespace troupe
