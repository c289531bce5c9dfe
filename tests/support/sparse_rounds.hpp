// Sparse sums of all ranks in one loop, without actors: what each rank ends with, and the bytes of the tensors that it
// sends.
#pragma once

#include <boost/test/unit_test.hpp>

#include <deque>
#include <map>

#include "actors/collective/sparse_sum.hpp"

namespace troupe::test {

class sparse_rounds {
  public:
    sparse_rounds(sparse_algorithm algorithm, std::uint32_t ranks,
                  const std::vector<tensor_shape>& shapes, const sparse_layout& layout)
        : lost_(ranks) {
        for (std::uint32_t r = 0; r < ranks; ++r)
            plans_.push_back(sparse_plan::make(algorithm, r, ranks, shapes, layout));
    }

    // The next sum of what each rank gives, none for zeros: every rank's tensors.
    std::vector<std::vector<tensor>>
    next(compute_context& context, const std::vector<std::vector<tensor>>& own, float factor) {
        sums_.clear();
        under_way_.clear();
        bytes_.assign(plans_.size(), 0);
        for (std::uint32_t r = 0; r < plans_.size(); ++r)
            sums_.push_back(sparse_sum::begin(context, plans_[r], own[r], lost_[r]).value());
        std::vector<std::size_t> taken(plans_.size());
        for (bool moved = true; moved;) {
            moved = false;
            for (std::uint32_t r = 0; r < plans_.size(); ++r) {
                moved = send(context, r) || moved;
                moved = take(context, r, taken[r]) || moved;
            }
        }
        std::vector<std::vector<tensor>> all;
        for (const sparse_sum& sum : sums_) {
            BOOST_TEST(sum.is_done());
            all.push_back(sum.sums(context, factor).value());
        }
        return all;
    }
    const std::vector<std::uint64_t>& bytes() const { return bytes_; } // of the last sum, by rank
    // Of the sparse row, what all ranks' rounding has lost so far.
    std::vector<double> lost() const {
        const std::size_t dimension = plans_[0].layout.load.dimension;
        std::vector<double> all(dimension);
        const std::size_t segments =
            segments_of(plans_[0].algorithm, static_cast<std::uint32_t>(plans_.size()));
        for (std::uint32_t r = 0; r < plans_.size(); ++r) {
            std::size_t own = 0; // the segment that it sums
            for (const reduce_transfer& t : plans_[r].transfers)
                if (t.adds)
                    own = t.receives.first;
            const std::size_t first = elements_of(own, segments, dimension).first;
            for (std::size_t i = 0; i < lost_[r].size(); ++i)
                all[first + i] += double{lost_[r][i]};
        }
        return all;
    }

  private:
    bool send(compute_context& context, std::uint32_t r) {
        const auto sent = sums_[r].send(context);
        for (const auto& out : sent.value()) {
            for (const tensor& t : out.part)
                bytes_[r] += t.bytes();
            BOOST_TEST(under_way_.emplace(std::pair{out.to, out.round}, out.part).second);
        }
        return !sent.value().empty();
    }
    bool take(compute_context& context, std::uint32_t r, std::size_t& taken) {
        const auto& transfers = plans_[r].transfers;
        while (taken < transfers.size() && transfers[taken].from == nobody)
            ++taken;
        if (taken == transfers.size())
            return false;
        const auto part = under_way_.extract({r, transfers[taken].round});
        if (part.empty())
            return false;
        BOOST_REQUIRE(plans_[r].check(transfers[taken++], part.mapped()).ok());
        BOOST_REQUIRE(sums_[r].accept(context, part.mapped()).ok());
        return true;
    }

    std::vector<sparse_plan> plans_;       // by rank
    std::vector<std::vector<float>> lost_; // by rank
    std::deque<sparse_sum> sums_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, sparse_part> under_way_; // to, round
    std::vector<std::uint64_t> bytes_;
};

} // namespace troupe::test
