// How fast the samplers of the program "lda" are, and how far they come: tokens a second and the likelihood of a token after
// some sweeps, of one worker without actors, in the time of the one thread that runs.
//
//   bench_topics exact | metropolis TOPICS SWEEPS [FILE [SEED [PROPOSALS]]]
//
// SWEEPS may be several numbers, 10,100,1000: a line is printed after each of them.
// FILE has documents in LDA-C's format: lines N WORD:COUNT ..., words from 0. Without one there are 33,000 made documents of
// about 150 words, 5 M tokens in all, of 1,000 topics and 50,000 words. alpha is 0.1 and beta 0.01.
#include <time.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "apps/lda/sampled_documents.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;
using namespace troupe::lda;

namespace {

// What this thread has run, in seconds.
double thread_seconds() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct documents {
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> words;
    std::vector<float> counts;
    std::int32_t vocabulary = 0;

    void add(std::int32_t word, float count) {
        words.push_back(word);
        counts.push_back(count);
        vocabulary = std::max(vocabulary, word + 1);
    }
    void end_document() { starts.push_back(static_cast<std::int64_t>(words.size())); }
};

documents read_documents(const char* name) {
    documents all;
    std::ifstream file{name};
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields{line};
        int entries = 0, word = 0, count = 0;
        fields >> entries;
        for (char colon = 0; fields >> word >> colon >> count;)
            all.add(word, static_cast<float>(count));
        all.end_document();
    }
    return all;
}

// Words of a topic are frequent as the square of a random number is small; frequent words are in many topics.
documents made_documents() {
    constexpr std::uint64_t topics = 1000, words = 50000, words_of_topic = 400;
    random_stream random{1};
    const auto skewed = [&](std::uint64_t below) {
        const double u = random.uniform();
        return static_cast<std::uint64_t>(u * u * static_cast<double>(below));
    };
    std::vector<std::int32_t> of_topics(topics * words_of_topic);
    for (std::int32_t& word : of_topics)
        word = static_cast<std::int32_t>(skewed(words));
    documents all;
    for (int d = 0; d < 33000; ++d) {
        std::uint64_t own[10];
        for (std::uint64_t& topic : own)
            topic = random.below(topics);
        for (std::uint64_t i = 100 + random.below(104); i > 0; --i)
            all.add(of_topics[own[skewed(10)] * words_of_topic + skewed(words_of_topic)], 1);
        all.end_document();
    }
    return all;
}

template <class Value>
Value or_exit(result<Value> made) {
    if (made)
        return std::move(*made);
    std::fprintf(stderr, "%s\n", made.failure().message().c_str());
    std::exit(1);
}

// One worker, whose words are in one block.
class worker {
  public:
    worker(const lda_settings& settings, const documents& from)
        : settings_{settings}, tokens_{tokens_of(from)}, documents_{or_exit(sampled_documents_of(
                                                             memory_, settings, tokens_))},
          totals_{settings.topics, settings.priors.beta * from.vocabulary}, row_{settings.topics},
          rows_(tokens_.words()) {}

    std::uint64_t tokens() const { return tokens_.tokens(); }
    void start(std::uint64_t seed) {
        random_stream random{seed};
        for (std::size_t w = 0; w < rows_.size(); ++w) {
            const tokens_of_word own = tokens_.of(w);
            for (std::size_t i = 0; i < own.topics.size(); ++i) {
                const auto topic = static_cast<std::uint32_t>(random.below(settings_.topics));
                own.topics[i] = static_cast<std::uint16_t>(topic);
                documents_->start(own.first + i, static_cast<std::size_t>(own.documents[i]), topic);
                row_.add(topic);
                totals_.change(topic, 1);
            }
            row_.pack(rows_[w], [](std::uint32_t, std::int32_t) {});
        }
    }
    void sweep(std::uint64_t seed, std::uint64_t number) {
        words_ = 0;
        for (std::size_t w = 0; w < rows_.size(); ++w) {
            random_stream random{seed << 32 | number, w};
            bool is_right = row_.unpack(rows_[w]).ok();
            is_right = is_right && documents_->sample(tokens_.of(w), row_, totals_, random).ok();
            if (!is_right)
                std::exit(1);
            rows_[w].clear();
            row_.pack(rows_[w],
                      [this](std::uint32_t, std::int32_t count) { words_ += beta_(count); });
        }
    }
    // Of a token.
    double likelihood() const {
        const double beta_words = settings_.priors.beta * static_cast<double>(rows_.size());
        const double all = words_ + likelihood_of_totals(totals_.counts(), beta_words) +
                           documents_->likelihood(alpha_, alpha_topics_);
        return all / static_cast<double>(tokens());
    }

  private:
    word_tokens tokens_of(const documents& from) {
        const std::size_t rows = from.starts.size() - 1;
        token_builder builder{memory_, rows, static_cast<std::uint64_t>(from.vocabulary)};
        const auto piece = or_exit(scheduled::payload_of(memory_, from.starts, from.words,
                                                         from.counts, std::vector<double>(rows)));
        if (auto taken = builder.append(piece); !taken)
            std::exit(1);
        return or_exit(builder.finish());
    }

    memory_pool memory_{8ull << 30};
    const lda_settings settings_;
    word_tokens tokens_;
    std::unique_ptr<sampled_documents> documents_;
    topic_totals totals_;
    word_row row_;
    std::vector<std::vector<std::int32_t>> rows_;
    log_gamma_ratio beta_{settings_.priors.beta}, alpha_{settings_.priors.alpha},
        alpha_topics_{settings_.priors.alpha * settings_.topics};
    double words_ = 0; // their part of the likelihood
};

// Numbers with commas between them, each larger than the one before; none if they are something else.
std::vector<int> rising_numbers(const char* text) {
    std::vector<int> all;
    std::istringstream fields{text};
    for (std::string field; std::getline(fields, field, ',');) {
        all.push_back(std::atoi(field.c_str()));
        if (all.back() <= (all.size() > 1 ? all[all.size() - 2] : 0))
            return {};
    }
    return all;
}

} // namespace

int main(int argc, char** argv) {
    lda_settings settings;
    const auto number = [&](int at, int otherwise) {
        return at < argc ? std::atoi(argv[at]) : otherwise;
    };
    const bool is_metropolis = argc > 1 && std::strcmp(argv[1], "metropolis") == 0;
    const int topics = number(2, 0), seed = number(5, 1), proposals = number(6, 1);
    const std::vector<int> stops = rising_numbers(argc > 3 ? argv[3] : "");
    if (argc < 4 || argc > 7 || topics < 2 || topics > 65535 || stops.empty() || seed < 0 ||
        proposals < 1 || (!is_metropolis && std::strcmp(argv[1], "exact") != 0)) {
        std::fprintf(stderr, "usage: bench_topics exact | metropolis TOPICS SWEEPS [FILE [SEED "
                             "[PROPOSALS]]]\n");
        return 2;
    }
    settings.topics = static_cast<std::uint32_t>(topics);
    settings.sampler = is_metropolis ? sampler_kind::metropolis : sampler_kind::exact;
    settings.proposals = static_cast<std::uint32_t>(proposals);
    worker all{settings, argc > 4 ? read_documents(argv[4]) : made_documents()};
    all.start(static_cast<std::uint64_t>(seed));
    double seconds = 0;
    int sweep = 0;
    for (const int stop : stops) {
        const double start = thread_seconds();
        while (sweep < stop)
            all.sweep(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(++sweep));
        seconds += thread_seconds() - start;
        const double sampled = static_cast<double>(all.tokens()) * sweep;
        std::printf("%s, %d topics, %llu tokens, seed %d: %d sweeps in %.2f s, %.1f M tokens/s, "
                    "%.4f nats a token\n",
                    argv[1], topics, static_cast<unsigned long long>(all.tokens()), seed, sweep,
                    seconds, sampled / seconds * 1e-6, all.likelihood());
        std::fflush(stdout);
    }
    return 0;
}
