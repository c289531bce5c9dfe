// Documents for runs of lda, the runs, and what follows from the topics of all tokens.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/lda/prior.hpp"
#include "tests/support/program_driver.hpp"

namespace troupe::test {

// Documents as lists of words.
matrix_rows rows_of(const std::vector<std::vector<std::int32_t>>& documents, std::uint64_t words);
// Each of them has words of few topics, and each topic a tenth of the words.
matrix_rows made_documents(std::uint64_t documents, std::uint64_t words, std::uint64_t seed);
// The collection of news in shared/data/lda; none if it is not there, which is told.
std::optional<matrix_rows> reuters();

// What a run of lda is told.
struct lda_case {
    std::uint32_t topics = 5;
    lda::prior priors;
    bool metropolis = false;
    std::uint32_t proposals = 2;
    std::uint64_t sweeps = 5; // with the first one, which is random
    driven_run run;           // its settings, program, schedule's kind and bounds are set
};
struct lda_result : driven_result {
    std::shared_ptr<program_driver> driver; // whose memory it is
    lda_result(std::shared_ptr<program_driver> d, driven_result run)
        : driven_result{std::move(run)}, driver{std::move(d)} {}
    lda_result(const lda_result&) = delete;
    lda_result(lda_result&&) = default;
    ~lda_result() {
        for (auto* parts : {&saved, &saved_workers})
            parts->clear();
        blocks.clear();
    }
};
result<lda_result> run_lda(const lda_case& c, const matrix_rows& rows);
// The numbers of each probe of this name.
std::vector<double> numbers_of(const driven_result& run, const std::string& name);

// A token of a document.
struct seen_token {
    std::size_t document = 0;
    std::size_t word = 0;
    std::uint32_t topic = 0;
};
// The joint log likelihood by its definition.
double plain_likelihood(const std::vector<seen_token>& tokens, std::size_t documents,
                        std::size_t words, std::uint32_t topics, const lda::prior& p);
// By chi-square, whether draws so often are of these probabilities: the statistic's distance from its mean in standard
// deviations.
double surprise(const std::vector<std::uint64_t>& seen, const std::vector<double>& probabilities);

} // namespace troupe::test
