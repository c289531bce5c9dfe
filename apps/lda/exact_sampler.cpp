#include "apps/lda/exact_sampler.hpp"

#include <algorithm>

namespace troupe::lda {

namespace {

constexpr std::size_t tokens_at_once = 256;

} // namespace

exact_sampler::exact_sampler(std::uint32_t topics, const prior& p, const exact_loops& loops)
    : topics_{topics}, prior_{p}, loops_{loops}, phi_(groups_of(topics) * topic_group),
      running_(phi_.size()), groups_(groups_of(topics)), stretches_(stretches_of(topics)),
      random_(tokens_at_once) {}

template <class Documents>
result<void> exact_sampler::sample_by(const tokens_of_word& tokens, word_row& row,
                                      Documents& documents, topic_totals& totals,
                                      random_stream& random, bool needs_sums) {
    const std::size_t count = tokens.topics.size();
    if (count == 0)
        return {};
    const word_row::changed_row changed = row.begin_changes(count);
    const topic_totals::raw_totals all = totals.raw();
    word_view word{topics_,
                   static_cast<float>(prior_.alpha),
                   static_cast<float>(prior_.beta),
                   all.beta_words,
                   phi_.data(),
                   changed.counts,
                   all.counts,
                   all.inverses,
                   changed.touched,
                   changed.nonzeros,
                   running_.data(),
                   needs_sums ? groups_.data() : nullptr,
                   stretches_.data(),
                   0};
    const token_view of_word{tokens.documents.data(), tokens.topics.data(), count};
    loops_.begin(word);
    std::size_t at = 0;
    while (at < count) {
        const std::size_t end = std::min(count, at + tokens_at_once);
        std::generate_n(random_.begin(), end - at, [&] { return random.next(); });
        const std::size_t drawn = documents.draw(loops_, word, of_word, at, end, random_.data());
        at = drawn;
        if (drawn < end)
            break;
    }
    row.end_changes(word.touched, word.nonzeros);
    if (at == count)
        return {};
    if (tokens.topics[at] >= topics_)
        return token_without_topic();
    return error{errc::protocol,
                 "a block or a document has fewer tokens of a topic than there are"};
}

result<void> exact_sampler::sample(const tokens_of_word& tokens, word_row& row,
                                   document_counts& documents, topic_totals& totals,
                                   random_stream& random) {
    return sample_by(tokens, row, documents, totals, random, false);
}

result<void> exact_sampler::sample(const tokens_of_word& tokens, word_row& row,
                                   document_topics& documents, topic_totals& totals,
                                   random_stream& random) {
    return sample_by(tokens, row, documents, totals, random, true);
}

} // namespace troupe::lda
