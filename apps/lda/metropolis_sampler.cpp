#include "apps/lda/metropolis_sampler.hpp"

#include <algorithm>

namespace troupe::lda {

namespace {

constexpr double unit = 0x1p-32; // of 32 random bits

} // namespace

metropolis_sampler::metropolis_sampler(std::uint32_t topics, const prior& p,
                                       std::uint32_t proposals)
    : topics_{topics}, alpha_{static_cast<float>(p.alpha)}, beta_{static_cast<float>(p.beta)},
      alpha_all_{p.alpha * topics}, beta_all_{p.beta * topics}, proposals_{proposals},
      begun_(topics) {}

void metropolis_sampler::begin(const word_row& row) {
    present_.clear();
    weights_.clear();
    tokens_ = 0;
    for (const std::uint32_t k : row.touched()) {
        const std::int32_t count = row.counts()[k];
        if (count <= 0 || begun_[k] != 0)
            continue;
        begun_[k] = count;
        present_.push_back(k);
        weights_.push_back(count);
        tokens_ += count;
    }
    if (!present_.empty())
        table_.build(weights_);
}

void metropolis_sampler::end() noexcept {
    for (const std::uint32_t k : present_)
        begun_[k] = 0;
}

float metropolis_sampler::phi(const walker& w, std::uint32_t topic, const word_row& row,
                              const topic_totals& totals) const noexcept {
    const std::int32_t count = row.counts()[topic];
    if (topic == w.old)
        return (static_cast<float>(count - 1) + beta_) * totals.inverse_with(topic, -1);
    return (static_cast<float>(count) + beta_) * totals.inverses()[topic];
}

// A topic by a share of all of them, 0 to 1.
std::uint32_t metropolis_sampler::any(double share) const noexcept {
    return std::min(static_cast<std::uint32_t>(share * topics_), topics_ - 1);
}

std::uint32_t metropolis_sampler::offer_of_document(const walker& w,
                                                    const document_order& documents,
                                                    std::uint32_t bits) const noexcept {
    const std::size_t others = documents.of(w.document).size() - 1;
    const double all = static_cast<double>(others);
    const double u = bits * unit * (all + alpha_all_);
    if (u >= all)
        return any((u - all) / alpha_all_);
    std::uint64_t place = documents.start(w.document) + static_cast<std::uint64_t>(u);
    place += place >= w.place ? 1 : 0; // not this token
    return documents.topic(place);
}

std::uint32_t metropolis_sampler::offer_of_word(const walker& w,
                                                random_stream& random) const noexcept {
    const double others = tokens_ - 1;
    const double u = random.uniform() * (others + beta_all_);
    if (u >= others)
        return any((u - others) / beta_all_);
    for (;;) {
        const std::uint32_t topic = present_[table_.draw(random.next())];
        // One of the tokens of this topic is this one.
        if (topic != w.old || random.below(static_cast<std::uint64_t>(begun_[topic])) != 0)
            return topic;
    }
}

result<void> metropolis_sampler::sample(const tokens_of_word& tokens, word_row& row,
                                        document_order& documents, topic_totals& totals,
                                        random_stream& random) {
    const std::size_t count = tokens.topics.size();
    if (count == 0)
        return {};
    begin(row);
    const auto document = [&](std::size_t i) {
        return static_cast<std::size_t>(tokens.documents[i]);
    };
    for (std::size_t i = 0; i < count; ++i) {
        if (i + 16 < count)
            documents.prefetch_start(document(i + 16));
        if (i + 8 < count)
            documents.prefetch(document(i + 8));
        walker w{document(i), documents.place(tokens.first + i), tokens.topics[i], tokens.topics[i],
                 0};
        if (w.old >= topics_) {
            end();
            return token_without_topic();
        }
        if (row.counts()[w.old] <= 0 || begun_[w.old] <= 0) {
            end();
            return error{errc::protocol, "a block has fewer tokens of a word than there are"};
        }
        w.phi = phi(w, w.old, row, totals);
        for (std::uint32_t step = 0; step < proposals_; ++step) {
            const std::uint64_t bits = random.next();
            const std::uint32_t near =
                offer_of_document(w, documents, static_cast<std::uint32_t>(bits >> 32));
            if (near >= topics_) { // of another word's token
                end();
                return token_without_topic();
            }
            if (near != w.topic) {
                const float other = phi(w, near, row, totals);
                if (static_cast<std::uint32_t>(bits) * unit * static_cast<double>(w.phi) <
                    static_cast<double>(other)) {
                    w.topic = near;
                    w.phi = other;
                }
            }
            const std::uint32_t far = offer_of_word(w, random);
            if (far == w.topic)
                continue;
            const auto in_document = documents.count(w.document, w.topic, far);
            const float other = phi(w, far, row, totals);
            const float gain =
                (static_cast<float>(in_document.second - (far == w.old ? 1 : 0)) + alpha_) * other *
                offered(w, w.topic);
            const float loss =
                (static_cast<float>(in_document.first - (w.topic == w.old ? 1 : 0)) + alpha_) *
                w.phi * offered(w, far);
            if (random.uniform() * static_cast<double>(loss) < static_cast<double>(gain)) {
                w.topic = far;
                w.phi = other;
            }
        }
        if (w.topic == w.old)
            continue;
        tokens.topics[i] = static_cast<std::uint16_t>(w.topic);
        documents.set(w.place, w.topic);
        row.remove(w.old);
        row.add(w.topic);
        totals.change(w.old, -1);
        totals.change(w.topic, 1);
    }
    end();
    return {};
}

} // namespace troupe::lda
