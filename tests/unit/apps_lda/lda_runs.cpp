#include "tests/unit/apps_lda/lda_runs.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "apps/lda/lda.capnp.h"
#include "apps/lda/lda.hpp"
#include "schemas/base/random.hpp"
#include "tests/shared_data.hpp"

namespace troupe::test {

// ---- documents ----

matrix_rows rows_of(const std::vector<std::vector<std::int32_t>>& documents, std::uint64_t words) {
    matrix_rows rows;
    rows.columns = words;
    rows.starts.push_back(0);
    for (const auto& document : documents) {
        std::map<std::int32_t, float> counts;
        for (const std::int32_t word : document)
            ++counts[word];
        for (const auto& [word, count] : counts) {
            rows.indices.push_back(word);
            rows.values.push_back(count);
        }
        rows.starts.push_back(static_cast<std::int64_t>(rows.values.size()));
        rows.targets.push_back(0);
    }
    return rows;
}

matrix_rows made_documents(std::uint64_t documents, std::uint64_t words, std::uint64_t seed) {
    random_stream random{seed};
    const std::uint64_t width = words / 10;
    std::vector<std::vector<std::int32_t>> all(documents);
    for (auto& document : all) {
        const std::uint64_t topics[2] = {random.below(10), random.below(10)};
        const std::uint64_t size = 5 + random.below(30);
        for (std::uint64_t i = 0; i < size; ++i)
            document.push_back(
                static_cast<std::int32_t>(topics[random.below(2)] * width + random.below(width)));
    }
    return rows_of(all, words);
}

std::optional<matrix_rows> reuters() {
    std::ifstream file{TROUPE_SHARED_DATA "/lda/reuters.ldac"};
    if (!file) {
        std::cout << "skipped: no collection of news\n";
        return {};
    }
    std::vector<std::vector<std::int32_t>> documents;
    std::int32_t words = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields{line};
        std::size_t entries = 0;
        fields >> entries;
        documents.emplace_back();
        std::int32_t word = 0, count = 0;
        for (char colon = 0; fields >> word >> colon >> count;) {
            documents.back().insert(documents.back().end(), static_cast<std::size_t>(count), word);
            words = std::max(words, word + 1);
        }
    }
    return rows_of(documents, static_cast<std::uint64_t>(words));
}

// ---- runs ----

result<lda_result> run_lda(const lda_case& c, const matrix_rows& rows) {
    capnp::MallocMessageBuilder message;
    auto settings = message.initRoot<proto::LdaSettings>();
    settings.setTopics(c.topics);
    settings.setAlpha(c.priors.alpha);
    settings.setBeta(c.priors.beta);
    settings.setSampler(c.metropolis ? proto::LdaSampler::METROPOLIS : proto::LdaSampler::EXACT);
    settings.setProposals(c.proposals);
    driven_run run = c.run;
    run.program = lda::lda_program();
    run.settings = message.getRoot<capnp::AnyPointer>().asReader();
    run.schedule.kind = scheduled::schedule_kind::rotation;
    run.stop.sweeps = c.sweeps;
    const scheduled::rotation ring{run.workers, run.schedule.blocks_per_worker};
    run.phases_max = c.sweeps * ring.phases_per_sweep();
    const auto driver = std::make_shared<program_driver>(std::move(run), rows);
    auto ended = driver->run();
    if (!ended)
        return ended.failure();
    return lda_result{driver, std::move(*ended)};
}

std::vector<double> numbers_of(const driven_result& run, const std::string& name) {
    std::vector<double> numbers;
    for (const scheduled::standing& s : run.standings)
        for (const named_number& n : s.numbers)
            if (n.name == name)
                numbers.push_back(n.value);
    return numbers;
}

// ---- what follows from the topics ----

double plain_likelihood(const std::vector<seen_token>& tokens, std::size_t documents,
                        std::size_t words, std::uint32_t topics, const lda::prior& p) {
    std::vector<std::vector<double>> of_words(words, std::vector<double>(topics)),
        of_documents(documents, std::vector<double>(topics));
    std::vector<double> totals(topics), sizes(documents);
    for (const seen_token& t : tokens) {
        ++of_words[t.word][t.topic];
        ++of_documents[t.document][t.topic];
        ++totals[t.topic];
        ++sizes[t.document];
    }
    const double v = static_cast<double>(words), k_all = topics;
    double sum = 0;
    for (std::uint32_t k = 0; k < topics; ++k) {
        sum += std::lgamma(v * p.beta) - v * std::lgamma(p.beta);
        for (const auto& word : of_words)
            sum += std::lgamma(word[k] + p.beta);
        sum -= std::lgamma(totals[k] + v * p.beta);
    }
    for (std::size_t d = 0; d < documents; ++d) {
        sum += std::lgamma(k_all * p.alpha) - k_all * std::lgamma(p.alpha);
        for (const double n : of_documents[d])
            sum += std::lgamma(n + p.alpha);
        sum -= std::lgamma(sizes[d] + k_all * p.alpha);
    }
    return sum;
}

double surprise(const std::vector<std::uint64_t>& seen, const std::vector<double>& probabilities) {
    double all = 0, sum = 0, statistic = 0;
    for (std::size_t i = 0; i < seen.size(); ++i) {
        all += static_cast<double>(seen[i]);
        sum += probabilities[i];
    }
    for (std::size_t i = 0; i < seen.size(); ++i) {
        const double expected = all * probabilities[i] / sum;
        const double difference = static_cast<double>(seen[i]) - expected;
        statistic += difference * difference / expected;
    }
    const double freedom = static_cast<double>(seen.size()) - 1;
    return (statistic - freedom) / std::sqrt(2 * freedom);
}

} // namespace troupe::test
