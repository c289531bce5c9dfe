// Draws from a list of weights in constant time. Each place of the table has a threshold and an alias, and a draw takes
// one or the other; weights that are small on average are laid out instead, each place as often as its weight says, which is
// sooner done.
//
//     alias_table table;
//     table.build(weights);                                      // some integers above 0
//     const std::uint32_t i = table.draw(random.next());
//
// Probabilities are right to 2^-32. Threads: values. Source: Walker 1974; the construction of Vose 1991.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace troupe::lda {

class alias_table {
  public:
    // At least one weight, all above 0; their sum is below 2^32.
    void build(std::span<const std::int32_t> weights);

    // `random`: 64 random bits.
    std::uint32_t draw(std::uint64_t random) const noexcept {
        const auto at = static_cast<std::size_t>(((random >> 32) * size_) >> 32);
        if (is_laid_out_)
            return laid_out_[at];
        const place& p = places_[at];
        return static_cast<std::uint32_t>(random) < p.threshold ? static_cast<std::uint32_t>(at)
                                                                : p.alias;
    }

  private:
    struct place {
        std::uint32_t threshold = 0; // in 2^-32
        std::uint32_t alias = 0;
    };

    void lay_out(std::span<const std::int32_t> weights);

    bool is_laid_out_ = false;
    std::size_t size_ = 0; // of the one or the other
    std::vector<std::uint32_t> laid_out_;
    std::vector<place> places_;
    std::vector<double> left_; // of the weights, relative to their mean
    std::vector<std::uint32_t> small_, large_;
};

} // namespace troupe::lda
