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
      drawn_(ahead * proposals), begun_(topics) {}

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

// A topic by a share of all of them, 0 to 1.
std::uint32_t metropolis_sampler::any(double share) const noexcept {
    return std::min(static_cast<std::uint32_t>(share * topics_), topics_ - 1);
}

inline std::uint32_t metropolis_sampler::offer_of_word(std::uint32_t old,
                                                       random_stream& random) const noexcept {
    const double others = tokens_ - 1;
    const double u = random.uniform() * (others + beta_all_);
    if (u >= others)
        return any((u - others) / beta_all_);
    for (;;) {
        const std::uint32_t topic = present_[table_.draw(random.next())];
        // One of the tokens of this topic is this one.
        if (topic != old || random.below(static_cast<std::uint64_t>(begun_[topic])) != 0)
            return topic;
    }
}

// What token i is offered.
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
            o.place = documents.start(document) + static_cast<std::uint64_t>(u);
            o.place += o.place >= place ? 1 : 0; // not this token
        } else {
            o.place = no_place;
            o.near = any((u - others) / alpha_all_);
        }
        o.far = offer_of_word(old, random);
        o.far_share = random.uniform();
    }
    const offers& first = drawn_for(i).front();
    if (old < topics_)
        documents.prefetch(document,
                           {place, first.place == no_place ? place : first.place, old, first.far});
}

// Token i takes what it is offered, or does not.
inline metropolis_sampler::outcome metropolis_sampler::step(const tokens_of_word& tokens,
                                                            std::size_t i, word_row& row,
                                                            document_order& documents,
                                                            topic_totals& totals) noexcept {
    const std::uint32_t old = tokens.topics[i];
    if (old >= topics_)
        return outcome::no_topic;
    if (row.counts()[old] <= 0 || begun_[old] <= 0)
        return outcome::too_few;
    const auto document = static_cast<std::size_t>(tokens.documents[i]);
    const std::int32_t* const counts = row.counts().data();
    const float* const inverses = totals.inverses().data();
    const float phi_of_old =
        (static_cast<float>(counts[old] - 1) + beta_) * totals.inverse_with(old, -1);
    const auto phi = [&](std::uint32_t topic) {
        const float other = (static_cast<float>(counts[topic]) + beta_) * inverses[topic];
        return topic == old ? phi_of_old : other;
    };
    std::uint32_t topic = old;
    float phi_of_topic = phi_of_old;
    for (const offers& o : drawn_for(i)) {
        const std::uint32_t near = o.place == no_place ? o.near : documents.topic(o.place);
        if (near >= topics_) // of another word's token
            return outcome::no_topic;
        const float phi_of_near = phi(near);
        const bool is_near = o.near_share * unit * static_cast<double>(phi_of_topic) <
                             static_cast<double>(phi_of_near);
        topic = is_near ? near : topic;
        phi_of_topic = is_near ? phi_of_near : phi_of_topic;
        if (o.far == topic)
            continue;
        const auto in_document = documents.count(document, topic, o.far);
        const float phi_of_far = phi(o.far);
        const float gain =
            (static_cast<float>(static_cast<std::int32_t>(in_document.second) - (o.far == old)) +
             alpha_) *
            phi_of_far * offered(topic, old);
        const float loss =
            (static_cast<float>(static_cast<std::int32_t>(in_document.first) - (topic == old)) +
             alpha_) *
            phi_of_topic * offered(o.far, old);
        const bool is_far = o.far_share * static_cast<double>(loss) < static_cast<double>(gain);
        topic = is_far ? o.far : topic;
        phi_of_topic = is_far ? phi_of_far : phi_of_topic;
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
    begin(row);
    outcome last = outcome::sampled;
    for (std::size_t i = 0; i < count + ahead && last == outcome::sampled; ++i) {
        if (i >= ahead)
            last = step(tokens, i - ahead, row, documents, totals);
        if (i + ahead < count)
            documents.prefetch_start(static_cast<std::size_t>(tokens.documents[i + ahead]));
        if (i < count)
            draw(tokens, i, documents, random);
    }
    end();
    if (last == outcome::no_topic)
        return token_without_topic();
    if (last == outcome::too_few)
        return error{errc::protocol, "a block has fewer tokens of a word than there are"};
    return {};
}

} // namespace troupe::lda
