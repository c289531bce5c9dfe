#include "apps/lda/exact_sampler.hpp"

#include <algorithm>

namespace troupe::lda {

exact_sampler::exact_sampler(std::uint32_t topics, const prior& p)
    : topics_{topics}, alpha_{p.alpha}, beta_{static_cast<float>(p.beta)},
      phi_((topics + group - 1) / group * group), sums_(phi_.size() / group), weights_(topics) {}

float exact_sampler::group_sum(std::size_t g) const noexcept {
    const float* p = phi_.data() + g * group;
    float s[4] = {};
    for (std::size_t i = 0; i < group; i += 4)
        for (std::size_t k = 0; k < 4; ++k)
            s[k] += p[i + k];
    return (s[0] + s[2]) + (s[1] + s[3]);
}

void exact_sampler::begin(const word_row& row, const topic_totals& totals) {
    const std::int32_t* counts = row.counts().data();
    const float* inverses = totals.inverses().data();
    for (std::size_t k = 0; k < topics_; ++k)
        phi_[k] = (static_cast<float>(counts[k]) + beta_) * inverses[k];
    sum_ = 0;
    for (std::size_t g = 0; g < sums_.size(); ++g) {
        sums_[g] = group_sum(g);
        sum_ += static_cast<double>(sums_[g]);
    }
}

void exact_sampler::set(std::uint32_t topic, float phi) noexcept {
    phi_[topic] = phi;
    float& sum = sums_[topic / group];
    const float now = group_sum(topic / group);
    sum_ += static_cast<double>(now) - static_cast<double>(sum);
    sum = now;
}

// The topic at which the sum of phi over it and those below passes `rest`. The sum of the group of topic `changed` is by
// `change` more than it says.
std::uint32_t exact_sampler::find(double rest, std::uint32_t changed,
                                  double change) const noexcept {
    const std::size_t changed_group = changed / group;
    std::size_t g = 0;
    for (; g + 1 < sums_.size(); ++g) {
        const double sum = static_cast<double>(sums_[g]) + (g == changed_group ? change : 0.0);
        if (rest < sum)
            break;
        rest -= sum;
    }
    const std::size_t end = std::min<std::size_t>(topics_, (g + 1) * group);
    std::size_t k = g * group;
    while (k + 1 < end && rest >= static_cast<double>(phi_[k]))
        rest -= static_cast<double>(phi_[k++]);
    return static_cast<std::uint32_t>(k);
}

// The weights of a document's topics without the token of topic `old`, as sums over the ones before.
exact_sampler::weighed exact_sampler::weigh(std::span<const topic_count> own,
                                            std::uint32_t old) noexcept {
    weighed w;
    for (std::size_t j = 0; j < own.size(); ++j) {
        const bool is_old = own[j].topic == old;
        w.place_of_old = is_old ? j : w.place_of_old;
        w.sum += static_cast<float>(own[j].count - is_old) * phi_[own[j].topic];
        weights_[j] = w.sum;
    }
    return w;
}

result<void> exact_sampler::sample(const tokens_of_word& tokens, word_row& row,
                                   document_topics& documents, topic_totals& totals,
                                   random_stream& random) {
    const std::size_t count = tokens.topics.size();
    if (count == 0)
        return {};
    begin(row, totals);
    const auto document = [&](std::size_t i) {
        return static_cast<std::size_t>(tokens.documents[i]);
    };
    for (std::size_t i = 0; i < count; ++i) {
        if (i + 8 < count)
            documents.prefetch_place(document(i + 8));
        if (i + 4 < count)
            documents.prefetch(document(i + 4));
        const std::uint32_t old = tokens.topics[i];
        if (old >= topics_)
            return token_without_topic();
        if (row.counts()[old] <= 0)
            return error{errc::protocol, "a block has fewer tokens of a word than there are"};
        const float before = phi_[old],
                    without = phi_of(row.counts()[old] - 1, totals.inverse_with(old, -1));
        phi_[old] = without;
        const double change = static_cast<double>(without) - static_cast<double>(before);
        const std::span<const topic_count> own = documents.of(document(i));
        const weighed w = weigh(own, old);
        const double sum = static_cast<double>(w.sum);
        const double u = random.uniform() * (sum + alpha_ * (sum_ + change));
        std::uint32_t chosen;
        if (u < sum) {
            std::size_t j = 0;
            while (j + 1 < own.size() && static_cast<double>(weights_[j]) <= u)
                ++j;
            chosen = own[j].topic;
        } else {
            chosen = find((u - sum) / alpha_, old, change);
        }
        phi_[old] = before;
        if (chosen == old)
            continue;
        tokens.topics[i] = static_cast<std::uint16_t>(chosen);
        documents.move(document(i), w.place_of_old, chosen);
        row.remove(old);
        row.add(chosen);
        totals.change(old, -1);
        totals.change(chosen, 1);
        set(old, without);
        set(chosen, phi_of(row.counts()[chosen], totals.inverses()[chosen]));
    }
    return {};
}

} // namespace troupe::lda
