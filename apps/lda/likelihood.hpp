// The joint log likelihood of words and topics, in nats,
//
//     log p(w, z) = sum_k [log G(V b) - log G(s_k + V b)] + sum_{w,k} [log G(n_wk + b) - log G(b)]
//                 + sum_d [log G(K a) - log G(N_d + K a)] + sum_{d,k} [log G(n_dk + a) - log G(a)]
//
// where G is the gamma function: what sampling raises, on average, until it is stationary. Counts of 0 add nothing to the
// sums over pairs.
//
// Threads: values. Source: Griffiths and Steyvers, PNAS 2004, with the documents' part.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace troupe::lda {

// log G(n + start) - log G(start) for whole n, from a table where n is small.
class log_gamma_ratio {
  public:
    explicit log_gamma_ratio(double start, std::size_t table = 4096);

    double operator()(std::int64_t n) const noexcept {
        return n < static_cast<std::int64_t>(table_.size()) ? table_[static_cast<std::size_t>(n)]
                                                            : computed(n);
    }

  private:
    double computed(std::int64_t n) const noexcept;

    double start_, at_start_;
    std::vector<double> table_;
};

// The part of the totals; counts of at least 0.
double likelihood_of_totals(std::span<const std::int64_t> totals, double beta_words);

// The parts of documents: document_topics or document_counts. `sizes`: their tokens.
template <class Documents>
double likelihood_of_documents(const Documents& documents, std::span<const std::uint32_t> sizes,
                               const log_gamma_ratio& alpha, const log_gamma_ratio& alpha_topics) {
    double sum = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        double own = -alpha_topics(sizes[d]);
        documents.each_count(d, [&](std::int32_t count) { own += alpha(count); });
        sum += own;
    }
    return sum;
}

} // namespace troupe::lda
