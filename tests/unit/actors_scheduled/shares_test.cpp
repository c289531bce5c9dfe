// Shares of about the same work, devices for those that are lost, and commits.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <numeric>

#include "actors/scheduled/balance.hpp"
#include "actors/scheduled/commits.hpp"
#include "actors/scheduled/device_choice.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;
using namespace troupe::scheduled;

namespace {

// Work by row and by column.
class listed_work final : public piece_source {
  public:
    listed_work(std::vector<std::uint64_t> rows, std::vector<std::uint64_t> columns)
        : rows_{std::move(rows)}, columns_{std::move(columns)} {}

    data_shape shape() const override {
        return {rows_.size(), columns_.size(),
                std::accumulate(rows_.begin(), rows_.end(), std::uint64_t{0}), true};
    }
    std::uint64_t row_work(std::uint64_t row) const override { return rows_[row]; }
    std::uint64_t column_work(std::uint64_t column) const override { return columns_[column]; }
    // A row at a time, which is its number.
    result<std::optional<rows_piece>> next(std::uint64_t rows_max, memory_pool& memory) override {
        if (rows_max == 0 || row_ == rows_.size())
            return std::optional<rows_piece>{};
        ++read_;
        auto number = payload_of(memory, std::array{static_cast<std::int64_t>(row_)});
        rows_piece piece{row_++, 1, std::move(number).value()};
        return std::optional{std::move(piece)};
    }
    result<void> rewind() override {
        row_ = 0;
        return {};
    }
    std::uint64_t read() const { return read_; }

  private:
    std::vector<std::uint64_t> rows_, columns_;
    std::uint64_t row_ = 0, read_ = 0;
};

// Which rows each worker is dealt; after the last one of a share comes -1.
std::vector<std::vector<std::int64_t>> dealt_to(std::shared_ptr<piece_source> data,
                                                const std::vector<number_range>& shares,
                                                std::vector<bool> wanted) {
    memory_pool memory;
    share_dealer dealer{std::move(data), shares};
    BOOST_REQUIRE(dealer.begin(std::move(wanted)).ok());
    std::vector<std::vector<std::int64_t>> all(shares.size());
    while (auto piece = dealer.next(memory).value()) {
        all[piece->worker].push_back(piece->tensors[0].values<std::int64_t>()[0]);
        if (piece->is_last)
            all[piece->worker].push_back(-1);
    }
    return all;
}

plan_device device_at(std::uint64_t node, const std::string& name) {
    return {.node = node_id{node}, .node_name = "node-" + std::to_string(node), .device = name};
}

saved_state at(std::uint64_t number) {
    saved_state state;
    state.number = number;
    return state;
}

} // namespace

BOOST_AUTO_TEST_SUITE(shares_of_a_program)

BOOST_AUTO_TEST_CASE(shares_of_power_law_columns_differ_by_at_most_a_twentieth) {
    random_stream random{3};
    std::vector<std::uint64_t> work;
    for (std::uint64_t c = 0; c < 100000; ++c)
        work.push_back(1 + static_cast<std::uint64_t>(
                               2000 / (1 + 0.05 * static_cast<double>(random.below(100000)))));
    for (const std::size_t parts : {1u, 2u, 3u, 8u, 64u}) {
        const auto ranges = balanced_ranges(work, parts);
        BOOST_TEST_REQUIRE(ranges.size() == parts);
        std::uint64_t next = 0;
        double largest = 0;
        for (const number_range& r : ranges) {
            BOOST_TEST(r.first == next);
            next += r.count;
            const auto first = work.begin() + static_cast<std::ptrdiff_t>(r.first);
            largest = std::max(
                largest, std::accumulate(first, first + static_cast<std::ptrdiff_t>(r.count), 0.0));
        }
        BOOST_TEST(next == work.size());
        const double mean =
            std::accumulate(work.begin(), work.end(), 0.0) / static_cast<double>(parts);
        BOOST_TEST(largest <= mean + static_cast<double>(std::ranges::max(work)));
        if (parts <= 8)
            BOOST_TEST(largest <= 1.05 * mean);
    }
}

BOOST_AUTO_TEST_CASE(no_share_is_empty) {
    for (const auto& rows :
         {std::vector<std::uint64_t>{1000, 0, 0, 0}, {0, 0, 0, 1000}, {0, 0, 0, 0}, {5, 5, 5, 5}})
        for (std::size_t workers = 1; workers <= 4; ++workers) {
            const listed_work data{rows, {1, 1, 50}};
            const run_shares shares = share_out(data, {workers, 3});
            std::uint64_t next = 0;
            for (const number_range& r : shares.rows) {
                BOOST_TEST(r.first == next);
                BOOST_TEST(r.count > 0u);
                next += r.count;
            }
            BOOST_TEST(next == 4u);
            BOOST_TEST(shares.entries.size() == workers);
            for (const number_range& v : shares.variables)
                BOOST_TEST(v.count == 1u);
        }
}

BOOST_AUTO_TEST_CASE(each_worker_may_have_all_rows) {
    const listed_work data{{3, 0, 7}, {1, 1}};
    const run_shares shares = share_out(data, {.workers = 4, .schedulers = 2, .all_rows = true});
    BOOST_TEST((shares.rows == std::vector<number_range>(4, {0, 3})));
    BOOST_TEST(shares.entries == std::vector<std::uint64_t>(4, 10),
               boost::test_tools::per_element());
    BOOST_TEST(shares.variables.size() == 2u);
}

BOOST_AUTO_TEST_CASE(workers_are_dealt_the_rows_of_their_shares) {
    using rows = std::vector<std::vector<std::int64_t>>;
    const auto data =
        std::make_shared<listed_work>(std::vector<std::uint64_t>(3), std::vector<std::uint64_t>{1});
    const std::vector<number_range> divided{{0, 1}, {1, 2}}, whole(3, {0, 3});
    BOOST_TEST((dealt_to(data, divided, {true, true}) == rows{{0, -1}, {1, 2, -1}}));
    BOOST_TEST((dealt_to(data, divided, {false, true}) == rows{{}, {1, 2, -1}}));
    BOOST_TEST((dealt_to(data, divided, {true, false}) == rows{{0, -1}, {}}));
    const std::vector<std::int64_t> all{0, 1, 2, -1};
    BOOST_TEST((dealt_to(data, whole, {true, true, true}) == rows{all, all, all}));
    BOOST_TEST((dealt_to(data, whole, {false, false, false}) == rows{{}, {}, {}}));
    const std::uint64_t read = data->read();
    BOOST_TEST((dealt_to(data, whole, {false, true, false}) == rows{{}, all, {}}));
    BOOST_TEST(data->read() == read + 3); // those of others are not read
}

BOOST_AUTO_TEST_CASE(a_free_device_comes_before_one_that_is_used) {
    device_choice devices{{device_at(1, "cpu:0"), device_at(1, "cpu:1"), device_at(2, "cpu:0")}};
    const std::vector<plan_device> used = {device_at(1, "cpu:0"), device_at(2, "cpu:0")};
    BOOST_TEST((devices.choose({}) == device_at(1, "cpu:0")));
    BOOST_TEST((devices.choose(used) == device_at(1, "cpu:1")));
    devices.lose(node_id{1});
    BOOST_TEST((devices.choose(used) == device_at(2, "cpu:0")));
    devices.lose(node_id{2});
    BOOST_TEST(!devices.choose(used).has_value());
}

BOOST_AUTO_TEST_CASE(a_commit_is_complete_when_all_have_saved_and_replaces_earlier_ones) {
    commits all{2};
    BOOST_TEST(!all.take(0, at(7)));
    BOOST_TEST(!all.take(0, at(7))); // repeated
    BOOST_TEST(!all.take(0, at(9)));
    BOOST_TEST((all.latest() == nullptr));
    BOOST_TEST(all.take(1, at(9)));
    BOOST_TEST(all.phase() == 9u);
    BOOST_TEST(!all.take(1, at(7))); // too late
    BOOST_TEST(!all.take(0, at(12)));
    all.give_up_incomplete();
    BOOST_TEST(!all.take(1, at(12)));
    BOOST_TEST(all.phase() == 9u);
    BOOST_TEST(!all.take(2, at(13))); // no such member
}

BOOST_AUTO_TEST_SUITE_END()
