#include "apps/lda/lda_worker.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "apps/lda/saved_topics.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::lda {

using scheduled::payload;

namespace {

// The random numbers of a word in a turn.
random_stream stream_of(const worker_options& options, std::uint64_t turn, std::uint64_t word) {
    std::uint64_t state = options.seed;
    state = split_mix(state) ^ options.worker;
    state = split_mix(state) ^ turn;
    return random_stream{split_mix(state), word};
}

double beta_words(const worker_options& options) {
    return options.settings.priors.beta * static_cast<double>(options.words);
}

} // namespace

worker_options options_of(const scheduled::worker_site& site, const lda_settings& settings) {
    return {site.memory, settings,        site.ring(),       site.seed,
            site.worker, site.rows.count, site.data.columns, site.blocks};
}

lda_worker::lda_worker(worker_options options)
    : options_{std::move(options)}, totals_{options_.settings.topics, beta_words(options_)},
      row_{options_.settings.topics}, beta_{options_.settings.priors.beta},
      alpha_{options_.settings.priors.alpha}, alpha_topics_{options_.settings.priors.alpha *
                                                            options_.settings.topics} {
    ended_.totals.resize(options_.settings.topics);
    builder_.emplace(*options_.memory, options_.documents, options_.words);
}

// ---- data ----

result<void> lda_worker::take_data(const payload& piece) {
    if (!builder_)
        return error{errc::protocol, "a worker is dealt documents after the last one"};
    return builder_->append(piece);
}

result<void> lda_worker::data_is_complete() {
    auto tokens = builder_->finish();
    builder_.reset();
    if (!tokens)
        return tokens.failure();
    tokens_ = std::move(*tokens);
    auto documents = sampled_documents_of(*options_.memory, options_.settings, *tokens_);
    if (!documents)
        return documents.failure();
    documents_ = std::move(*documents);
    return {};
}

// ---- turns ----

result<payload> lda_worker::make_block(std::uint32_t block) {
    if (block >= options_.blocks.size())
        return error{errc::protocol, "a block of words that the run has not"};
    return empty_block(*options_.memory, options_.blocks[block].count);
}

result<payload> lda_worker::push(const scheduled::phase&, compute_context&) {
    return error{errc::protocol, "the counts of topics change in turns alone"};
}

result<void> lda_worker::apply(const scheduled::phase_deltas& deltas) {
    if (deltas.changes.empty())
        return {}; // a probe
    const auto changes =
        scheduled::read<std::int64_t>(deltas.changes, 0, "the changes of the topics' totals");
    return changes ? totals_.apply(deltas.number, *changes) : changes.failure();
}

// Random topics for tokens that have none.
result<void> lda_worker::start(const tokens_of_word& tokens, random_stream& random) {
    for (std::size_t i = 0; i < tokens.topics.size(); ++i) {
        if (tokens.topics[i] != no_topic)
            return token_with_topic();
        const auto topic = static_cast<std::uint32_t>(random.below(options_.settings.topics));
        if (!documents_->start(tokens.first + i, static_cast<std::size_t>(tokens.documents[i]),
                               topic))
            return token_with_topic();
        tokens.topics[i] = static_cast<std::uint16_t>(topic);
        row_.add(topic);
        totals_.counts().change(topic, 1);
    }
    return {};
}

result<void> lda_worker::compute(std::uint64_t word, std::uint64_t turn) {
    const tokens_of_word tokens = tokens_->of(word);
    last_turn_.tokens += tokens.topics.size();
    random_stream random = stream_of(options_, turn, word);
    if (options_.ring.sweep_of_turn(turn) > 0)
        return documents_->sample(tokens, row_, totals_.counts(), random);
    return start(tokens, random);
}

result<payload> lda_worker::turn(const scheduled::phase& p, scheduled::held_block& block,
                                 compute_context&) {
    if (block.number >= options_.blocks.size())
        return error{errc::protocol, "a block of words that the run has not"};
    const scheduled::number_range words = options_.blocks[block.number];
    const auto from = block_reader::open(block.content, words.count);
    if (!from)
        return from.failure();
    if (block.turn % options_.ring.blocks() == 0)
        ended_ = {0, std::vector<std::int64_t>(options_.settings.topics)};
    const bool ends = options_.ring.is_last_of_sweep(block.turn);
    block_writer to;
    last_turn_ = {block.number, 0};
    totals_.begin();
    for (std::uint64_t i = 0; i < words.count; ++i) {
        if (auto unpacked = row_.unpack(from->row(i)); !unpacked)
            return unpacked.failure();
        if (auto computed = compute(words.first + i, block.turn); !computed)
            return computed.failure();
        if (ends)
            to.append(row_, [this](std::uint32_t topic, std::int32_t count) {
                ended_.likelihood += beta_(count);
                ended_.totals[topic] += count;
            });
        else
            to.append(row_, [](std::uint32_t, std::int32_t) {});
    }
    auto content = to.finish(*options_.memory);
    if (!content)
        return content.failure();
    block.content = std::move(*content);
    return scheduled::payload_of(*options_.memory, totals_.end(p.number));
}

std::string lda_worker::describe(const scheduled::phase& p) const {
    if (p.is_probe)
        return "probe";
    return "block " + std::to_string(last_turn_.block) + " of " +
           std::to_string(options_.blocks.size()) + ", " + counted(last_turn_.tokens, "token");
}

// ---- probes ----

result<payload> lda_worker::probe(const scheduled::phase&, std::uint32_t, compute_context&) {
    const double documents = documents_->likelihood(alpha_, alpha_topics_);
    return scheduled::payload_of(*options_.memory, std::array{ended_.likelihood, documents},
                                 ended_.totals,
                                 std::array{static_cast<std::int64_t>(tokens_->tokens())});
}

// ---- as it is saved ----

result<scheduled::saved_part> lda_worker::save() const {
    scheduled::state_writer write{*options_.memory};
    write("topics", bytes_of(tokens_->topics()));
    documents_->save(write);
    write("totals", totals_.counts().counts())("phases", totals_.phases())("own", totals_.own());
    write("likelihood", std::array{ended_.likelihood})("ended", ended_.totals);
    return std::move(write).finish();
}

result<void> lda_worker::load_topics(const scheduled::saved_part& saved) {
    const auto topics = read_topics(saved, "topics");
    if (!topics)
        return topics.failure();
    const auto is_none = [this](std::uint16_t topic) {
        return topic != no_topic && topic >= options_.settings.topics;
    };
    if (topics->size() != tokens_->tokens() || std::ranges::any_of(*topics, is_none))
        return error{errc::protocol, "the saved topics of lda are of other documents"};
    std::ranges::copy(*topics, tokens_->topics().begin());
    return documents_->load(saved, *tokens_);
}

result<void> lda_worker::load(const scheduled::saved_part& saved) {
    if (auto loaded = load_topics(saved); !loaded)
        return loaded;
    const auto totals = scheduled::read_state<std::int64_t>(saved, "totals"),
               phases = scheduled::read_state<std::int64_t>(saved, "phases"),
               own = scheduled::read_state<std::int64_t>(saved, "own"),
               ended = scheduled::read_state<std::int64_t>(saved, "ended");
    const auto likelihood = scheduled::read_state<double>(saved, "likelihood");
    if (const error* failure = scheduled::first_failure(totals, phases, own, ended, likelihood))
        return *failure;
    if (ended->size() != ended_.totals.size() || likelihood->size() != 1)
        return error{errc::protocol, "the saved sums of lda have other sizes"};
    ended_ = {likelihood->front(), {ended->begin(), ended->end()}};
    return totals_.load(*totals, *phases, *own);
}

} // namespace troupe::lda
