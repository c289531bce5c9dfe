#include "apps/lda/result_files.hpp"

#include <algorithm>
#include <fstream>
#include <functional>

#include "actors/scheduled/written_files.hpp"
#include "apps/lda/block_rows.hpp"
#include "apps/lda/lda_scheduler.hpp"
#include "apps/lda/settings.hpp"
#include "schemas/base/json.hpp"

namespace troupe::lda {

namespace {

using namespace scheduled;

constexpr std::size_t top_words = 20;

// The words of which a topic has most tokens, those with most of them first.
class top_list {
  public:
    void add(std::int32_t count, std::uint64_t word) {
        if (words_.size() == top_words && count <= words_.back().first)
            return;
        const auto at =
            std::ranges::find_if(words_, [&](const auto& w) { return w.first < count; });
        words_.insert(at, {count, word});
        if (words_.size() > top_words)
            words_.pop_back();
    }
    const std::vector<std::pair<std::int32_t, std::uint64_t>>& words() const { return words_; }

  private:
    std::vector<std::pair<std::int32_t, std::uint64_t>> words_;
};

// Goes through the blocks of an ended run, word by word.
class counts_of_words {
  public:
    counts_of_words(const scheduled::result_site& site, const scheduled::ended_run& run,
                    std::uint32_t topics)
        : site_{site}, run_{run}, row_{topics} {}

    // Calls visit(word, counts of all topics).
    template <class Visit>
    result<void> each(Visit visit) {
        if (run_.blocks.size() != site_.blocks.size())
            return error{errc::protocol, "a run of lda has ended without all of its blocks"};
        std::vector<std::int32_t> all;
        for (std::size_t b = 0; b < run_.blocks.size(); ++b) {
            const auto block = block_reader::open(run_.blocks[b].content, site_.blocks[b].count);
            if (!block)
                return block.failure();
            for (std::size_t i = 0; i < block->words(); ++i) {
                if (auto unpacked = row_.unpack(block->row(i)); !unpacked)
                    return unpacked;
                visit(site_.blocks[b].first + i, row_.counts());
                all.clear();
                row_.pack(all, [](std::uint32_t, std::int32_t) {});
            }
        }
        return {};
    }

  private:
    const scheduled::result_site& site_;
    const scheduled::ended_run& run_;
    word_row row_;
};

struct found_topics {
    std::vector<std::int64_t> totals;
    std::vector<top_list> tops;
};

// Writes the counts as it goes through them.
result<void> write_counts(const scheduled::result_site& site, const scheduled::ended_run& run,
                          found_topics& found) {
    const std::size_t topics = found.totals.size();
    counts_of_words words{site, run, static_cast<std::uint32_t>(topics)};
    result<void> outcome;
    auto written = write_file(site.directory / "word_topics.npy", [&](std::ofstream& file) {
        const std::uint64_t shape[] = {site.data.columns, topics};
        file << npy_header_of("<i4", shape);
        outcome = words.each([&](std::uint64_t word, std::span<const std::int32_t> counts) {
            write_bytes(file, scheduled::bytes_of(counts));
            for (std::size_t k = 0; k < topics; ++k) {
                found.totals[k] += counts[k];
                if (counts[k] > 0)
                    found.tops[k].add(counts[k], word);
            }
        });
    });
    return outcome ? written : outcome;
}

void write_topics(std::ofstream& file, const found_topics& found,
                  const std::vector<std::string>& names) {
    file << "topic,rank,word,count\n";
    for (std::size_t k = 0; k < found.tops.size(); ++k) {
        int rank = 0;
        for (const auto& [count, word] : found.tops[k].words())
            file << k << ',' << ++rank << ',' << name_or_number(names, word) << ',' << count
                 << '\n';
    }
}

void write_summary(std::ofstream& file, const scheduled::result_site& site,
                   const lda_settings& settings, const saved_standing& standing) {
    json summary;
    summary["program"] = "lda";
    summary["topics"] = settings.topics;
    summary["words"] = site.data.columns;
    summary["documents"] = site.data.rows;
    summary["tokens"] = standing.tokens;
    summary["alpha"] = settings.priors.alpha;
    summary["beta"] = settings.priors.beta;
    summary["sampler"] = settings.sampler == sampler_kind::exact ? "exact" : "metropolis";
    summary["sweeps"] = standing.sweeps;
    if (standing.sweeps > 0) {
        summary["likelihood"] = standing.likelihood;
        summary["per_token"] = standing.likelihood / static_cast<double>(standing.tokens);
    }
    file << summary.dump(2) << '\n';
}

} // namespace

result<std::vector<std::string>> write_result(const scheduled::result_site& site,
                                              const scheduled::ended_run& run) {
    const auto settings = read_settings(site.settings);
    if (!settings)
        return settings.failure();
    if (run.schedulers.size() != 1)
        return error{errc::protocol, "the totals of topics are with one scheduler"};
    const auto standing = read_standing(run.schedulers.front());
    if (!standing)
        return standing.failure();
    found_topics found{std::vector<std::int64_t>(settings->topics),
                       std::vector<top_list>(settings->topics)};
    if (auto counts = write_counts(site, run, found); !counts)
        return counts.failure();
    std::vector<std::pair<const char*, std::function<void(std::ofstream&)>>> files = {
        {"topics.csv", [&](std::ofstream& f) { write_topics(f, found, site.column_names); }},
        {"topic_totals.npy",
         [&](std::ofstream& f) {
             const std::uint64_t shape[] = {found.totals.size()};
             f << npy_header_of("<i8", shape);
             write_bytes(f, scheduled::bytes_of(std::span<const std::int64_t>{found.totals}));
         }},
        {"summary.json", [&](std::ofstream& f) { write_summary(f, site, *settings, *standing); }}};
    const std::filesystem::path words = site.directory / "words.txt";
    std::error_code failed;
    if (site.column_names.empty() && !std::filesystem::remove(words, failed) && failed)
        return error{errc::io, words.string() +
                                   ": of an earlier run, cannot be removed: " + failed.message()};
    if (!site.column_names.empty())
        files.emplace_back("words.txt", [&](std::ofstream& f) {
            for (const std::string& name : site.column_names)
                f << name << '\n';
        });
    std::vector<std::string> names{"word_topics.npy"};
    for (const auto& [name, write] : files) {
        if (auto written = write_file(site.directory / name, write); !written)
            return written.failure();
        names.emplace_back(name);
    }
    return names;
}

} // namespace troupe::lda
