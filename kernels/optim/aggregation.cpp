#include "kernels/optim/aggregation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/ops/ops.hpp"
#include "kernels/optim/optimizer.hpp"

namespace troupe {

namespace {

using all_sent = std::span<const std::vector<tensor>>;

result<tensor> like(compute_context& context, const tensor& t) {
    return tensor::allocate(context.memory, data_type::float32, t.shape());
}

result<std::vector<tensor>> mean_of(compute_context& context, all_sent sent) {
    std::vector<tensor> means;
    for (std::size_t i = 0; i < sent.front().size(); ++i) {
        auto mean = like(context, sent.front()[i]);
        if (!mean)
            return mean.failure();
        const float share = 1.0f / static_cast<float>(sent.size());
        auto done = context.ops.run(scale{sent.front()[i], share, *mean});
        for (std::size_t k = 1; done && k < sent.size(); ++k)
            done = context.ops.run(add_scaled{*mean, share, sent[k][i], *mean});
        if (!done)
            return done.failure();
        means.push_back(std::move(*mean));
    }
    return means;
}

result<std::vector<tensor>> trimmed_mean_of(compute_context& context, std::size_t trim,
                                            all_sent sent) {
    std::vector<tensor> means;
    for (std::size_t i = 0; i < sent.front().size(); ++i) {
        std::vector<tensor> inputs;
        for (const auto& tensors : sent)
            inputs.push_back(tensors[i]);
        auto mean = like(context, inputs.front());
        if (!mean)
            return mean.failure();
        if (auto done = context.ops.run(trimmed_mean{inputs, trim, *mean}); !done)
            return done.failure();
        means.push_back(std::move(*mean));
    }
    return means;
}

result<double> squared_distance(compute_context& context, const std::vector<tensor>& a,
                                const std::vector<tensor>& b) {
    double distance = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        auto difference = like(context, a[i]);
        if (!difference)
            return difference.failure();
        double squares = 0;
        auto done = context.ops.run(add_scaled{a[i], -1, b[i], *difference});
        if (done)
            done = context.ops.run(sum_of_squares{*difference, squares});
        if (!done)
            return done.failure();
        distance += squares;
    }
    return distance;
}

result<std::vector<tensor>> krum_of(compute_context& context, std::size_t liars, all_sent sent) {
    std::vector<double> distances(sent.size() * sent.size());
    for (std::size_t a = 0; a < sent.size(); ++a)
        for (std::size_t b = 0; b < a; ++b) {
            const auto distance = squared_distance(context, sent[a], sent[b]);
            if (!distance)
                return distance.failure();
            distances[a * sent.size() + b] = distances[b * sent.size() + a] = *distance;
        }
    return sent[krum_choice(distances, sent.size(), liars)];
}

} // namespace

std::optional<aggregation> aggregation::of(proto::Aggregation::Reader description) {
    switch (description.which()) {
    case proto::Aggregation::MEAN:
        return aggregation{};
    case proto::Aggregation::MEDIAN:
        return aggregation{.by = rule::median};
    case proto::Aggregation::TRIMMED_MEAN:
        return aggregation{.by = rule::trimmed_mean,
                           .trim = description.getTrimmedMean().getTrim()};
    case proto::Aggregation::KRUM:
        return aggregation{.by = rule::krum, .liars = description.getKrum().getLiars()};
    }
    return std::nullopt;
}

std::size_t aggregation::needs_of(std::size_t senders) const noexcept {
    switch (by) {
    case rule::mean:
        break;
    case rule::median:
        return senders / 2 + 1;
    case rule::trimmed_mean:
        return 2 * std::size_t{trim} + 1;
    case rule::krum:
        return 2 * std::size_t{liars} + 3;
    }
    return 1;
}

std::size_t krum_choice(std::span<const double> distances, std::size_t senders, std::size_t liars) {
    TROUPE_CHECK(distances.size() == senders * senders && senders >= 2 * liars + 3,
                 "krum has a distance of all pairs, and senders enough");
    std::size_t choice = 0;
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < senders; ++k) {
        std::vector<double> others;
        for (std::size_t other = 0; other < senders; ++other)
            if (const double d = distances[k * senders + other]; other != k)
                others.push_back(std::isfinite(d) ? d : std::numeric_limits<double>::infinity());
        std::ranges::sort(others);
        double score = 0;
        for (std::size_t n = 0; n < senders - liars - 2; ++n)
            score += others[n];
        if (score < best) {
            best = score;
            choice = k;
        }
    }
    return choice;
}

result<std::vector<tensor>> aggregate(compute_context& context, const aggregation& how,
                                      std::span<const std::vector<tensor>> sent) {
    TROUPE_CHECK(!sent.empty() && sent.size() >= how.needs_of(1),
                 "who aggregates has asked what it takes");
    switch (how.by) {
    case aggregation::rule::mean:
        break;
    case aggregation::rule::median:
        return trimmed_mean_of(context, (sent.size() - 1) / 2, sent);
    case aggregation::rule::trimmed_mean:
        return trimmed_mean_of(context, how.trim, sent);
    case aggregation::rule::krum:
        return krum_of(context, how.liars, sent);
    }
    return mean_of(context, sent);
}

} // namespace troupe
