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
      drawn_(ahead * proposals), counts_(topics) {}

// Counts of the word's tokens of other workers: those of all, less those of these.
metropolis_sampler::outcome metropolis_sampler::begin(const tokens_of_word& tokens,
                                                      const word_row& row) {
    present_.clear();
    weights_.clear();
    std::int64_t others = -std::ssize(tokens.topics);
    for (const std::uint32_t k : row.touched())
        if (row.counts()[k] > 0 && counts_[k] == 0) {
            counts_[k] = row.counts()[k];
            others += counts_[k];
            present_.push_back(k);
        }
    outcome found = others < 0 ? outcome::too_few : outcome::sampled;
    for (std::size_t i = 0; others > 0 && i < tokens.topics.size(); ++i) {
        const std::uint16_t k = tokens.topics[i];
        if (k >= topics_)
            found = outcome::no_topic;
        else if (counts_[k] == 0)
            found = outcome::too_few;
        else
            --counts_[k];
    }
    std::size_t kept = 0;
    for (const std::uint32_t k : present_) {
        if (others > 0 && counts_[k] > 0) {
            weights_.push_back(counts_[k]);
            present_[kept++] = k;
        }
        counts_[k] = 0;
    }
    present_.resize(kept);
    others_ = static_cast<double>(others);
    if (kept > 0)
        table_.build(weights_);
    return found;
}

// A topic by a share of all of them, 0 to 1.
std::uint32_t metropolis_sampler::any(double share) const noexcept {
    return std::min(static_cast<std::uint32_t>(share * topics_), topics_ - 1);
}

inline void metropolis_sampler::draw_of_word(offers& o, const tokens_of_word& tokens, std::size_t i,
                                             random_stream& random) const noexcept {
    const double own = static_cast<double>(tokens.topics.size() - 1);
    const double u = random.uniform() * (own + others_ + beta_all_);
    o.far_place = no_place;
    if (u < own) {
        o.far_place = static_cast<std::uint64_t>(u);
        o.far_place += o.far_place >= i ? 1 : 0; // not this token
        o.far = tokens.topics[o.far_place];      // as long as that does not change
    } else if (u < own + others_) {
        o.far = present_[table_.draw(random.next())];
    } else {
        o.far = any((u - own - others_) / beta_all_);
    }
}

// Draws the offers for token i.
inline void metropolis_sampler::draw(const tokens_of_word& tokens, std::size_t i,
                                     const document_order& documents,
                                     random_stream& random) noexcept {
    const auto document = static_cast<std::size_t>(tokens.documents[i]);
    const std::uint32_t old = tokens.topics[i];
    const std::uint64_t place = documents.place(tokens.first + i);
    const double others = static_cast<double>(documents.of(document).size() - 1);
    for (offers& o : drawn_for(i)) {
        const std::uint64_t bits = random.next();
        o.near_share = static_cast<std::uint32_t>(bits);
        const double u = static_cast<double>(bits >> 32) * unit * (others + alpha_all_);
        if (u < others) {
            o.near_place = documents.start(document) + static_cast<std::uint64_t>(u);
            o.near_place += o.near_place >= place ? 1 : 0; // not this token
        } else {
            o.near_place = no_place;
            o.near = any((u - others) / alpha_all_);
        }
        draw_of_word(o, tokens, i, random);
        o.far_share = random.uniform();
    }
    const offers& first = drawn_for(i).front();
    if (old < topics_)
        documents.prefetch(document,
                           {place, first.near_place == no_place ? place : first.near_place, old,
                            std::min(first.far, topics_ - 1)});
}

// Token i takes what it is offered, or does not.
inline metropolis_sampler::outcome metropolis_sampler::step(const tokens_of_word& tokens,
                                                            std::size_t i, word_row& row,
                                                            document_order& documents,
                                                            topic_totals& totals) noexcept {
    const std::uint32_t old = tokens.topics[i];
    if (old >= topics_)
        return outcome::no_topic;
    if (row.counts()[old] <= 0)
        return outcome::too_few;
    const auto document = static_cast<std::size_t>(tokens.documents[i]);
    const std::int32_t* const counts = row.counts().data();
    const float* const inverses = totals.inverses().data();
    const float inverse_of_old = totals.inverse_with(old, -1);
    const float phi_of_old = (static_cast<float>(counts[old] - 1) + beta_) * inverse_of_old;
    const auto inverse = [&](std::uint32_t topic) {
        const float other = inverses[topic];
        return topic == old ? inverse_of_old : other;
    };
    const auto phi = [&](std::uint32_t topic) {
        const float other = (static_cast<float>(counts[topic]) + beta_) * inverses[topic];
        return topic == old ? phi_of_old : other;
    };
    std::uint32_t topic = old;
    float phi_of_topic = phi_of_old;
    for (const offers& o : drawn_for(i)) {
        const std::uint32_t near =
            o.near_place == no_place ? o.near : documents.topic(o.near_place);
        const std::uint32_t far = o.far_place == no_place ? o.far : tokens.topics[o.far_place];
        if (near >= topics_ || far >= topics_) // of another token
            return outcome::no_topic;
        const float phi_of_near = phi(near);
        const bool is_near = o.near_share * unit * static_cast<double>(phi_of_topic) <
                             static_cast<double>(phi_of_near);
        topic = is_near ? near : topic;
        phi_of_topic = is_near ? phi_of_near : phi_of_topic;
        if (far == topic)
            continue;
        const auto in_document = documents.count(document, topic, far);
        const float gain = (static_cast<float>(static_cast<std::int32_t>(in_document.second) -
                                               (far == old ? 1 : 0)) +
                            alpha_) *
                           inverse(far);
        const float loss = (static_cast<float>(static_cast<std::int32_t>(in_document.first) -
                                               (topic == old ? 1 : 0)) +
                            alpha_) *
                           inverse(topic);
        const bool is_far = o.far_share * static_cast<double>(loss) < static_cast<double>(gain);
        topic = is_far ? far : topic;
        phi_of_topic = is_far ? phi(far) : phi_of_topic;
    }
    if (topic == old)
        return outcome::sampled;
    tokens.topics[i] = static_cast<std::uint16_t>(topic);
    documents.set(document, documents.place(tokens.first + i), topic);
    row.remove(old);
    row.add(topic);
    totals.change(old, -1);
    totals.change(topic, 1);
    return outcome::sampled;
}

result<void> metropolis_sampler::sample(const tokens_of_word& tokens, word_row& row,
                                        document_order& documents, topic_totals& totals,
                                        random_stream& random) {
    const std::size_t count = tokens.topics.size();
    if (count == 0)
        return {};
    outcome last = begin(tokens, row);
    for (std::size_t i = 0; i < count + ahead && last == outcome::sampled; ++i) {
        if (i >= ahead)
            last = step(tokens, i - ahead, row, documents, totals);
        if (i + ahead < count)
            documents.prefetch_start(static_cast<std::size_t>(tokens.documents[i + ahead]));
        if (i < count)
            draw(tokens, i, documents, random);
    }
    if (last == outcome::no_topic)
        return token_without_topic();
    if (last == outcome::too_few)
        return error{errc::protocol, "a block has fewer tokens of a word than there are"};
    return {};
}

} // namespace troupe::lda
