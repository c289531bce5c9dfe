// topic_model.hpp: the files of a result.
#include <fstream>
#include <sstream>
#include <unordered_set>

#include "actors/data/files/npy_elements.hpp"
#include "actors/data/sparse/documents.hpp"
#include "actors/scheduled/damaged_result.hpp"
#include "apps/lda/lda_limits.hpp"
#include "apps/lda/topic_model.hpp"
#include "schemas/base/json.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::lda {

namespace {

constexpr std::uint64_t summary_bytes_max = 1u << 16;
// A word and the end of its line.
constexpr std::uint64_t line_bytes_max = word_bytes_max + 1;

using scheduled::damaged_array;
using scheduled::damaged_result;

error bad(const std::filesystem::path& file, const std::string& sentence) {
    return {errc::data, file.string() + ": " + sentence};
}

result<topic_model> read_summary(const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    const auto length = file_length(file);
    if (!in || !length)
        return error{errc::io, file.string() + ": cannot be read; name the folder of a result of "
                                               "lda"};
    if (*length > summary_bytes_max)
        return bad(file, "is too long for a summary; name the folder of a result of lda");
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    const json summary = json::parse(text).value_or(nullptr);
    const auto number = [&](const char* name) { return summary[name].number().value_or(0.0); };
    topic_model model;
    model.priors = {number("alpha"), number("beta")};
    const double topics = number("topics"), words = number("words");
    if (!summary["topics"].count() || !summary["words"].count() || summary["program"] != "lda" ||
        !(model.priors.alpha > 0) || !(model.priors.beta > 0) || !(topics >= 2) ||
        topics > limits::topics_max || !(words >= 1) ||
        words > static_cast<double>(limits::counts_max) / topics)
        return bad(file, "is no summary of topics; name the folder of a result of lda");
    model.topics = static_cast<std::uint32_t>(topics);
    model.words = static_cast<std::uint64_t>(words);
    return model;
}

result<void> read_counts(const std::filesystem::path& file, topic_model& model) {
    auto elements = npy_elements::open(file.string());
    if (!elements)
        return damaged_array(file, elements.failure());
    if (!elements->is_whole() ||
        elements->header().shape != std::vector<std::size_t>{model.words, model.topics})
        return damaged_result(
            file, "has other counts than summary.json says: " + std::to_string(model.words) +
                      " words and " + std::to_string(model.topics) + " topics");
    model.counts.reserve(model.words * model.topics);
    model.totals.assign(model.topics, 0);
    std::vector<std::int64_t> row(model.topics);
    for (std::uint64_t word = 0; word < model.words; ++word) {
        if (auto read = elements->read(std::span{row}); !read)
            return damaged_array(file, read.failure());
        for (std::uint32_t k = 0; k < model.topics; ++k) {
            if (row[k] < 0 || row[k] > INT32_MAX)
                return damaged_result(file, "word " + std::to_string(word) + " has a count of " +
                                                std::to_string(row[k]));
            model.counts.push_back(static_cast<std::int32_t>(row[k]));
            model.totals[k] += row[k];
        }
    }
    const auto end = elements->expect_end();
    return end ? end : damaged_array(file, end.failure());
}

result<void> read_names(const std::filesystem::path& file, topic_model& model) {
    std::ifstream in{file, std::ios::binary};
    if (const auto length = file_length(file);
        in && (!length || *length / line_bytes_max > model.words))
        return damaged_result(file, "is too long for " + std::to_string(model.words) + " words");
    for (std::string name; in && std::getline(in, name);)
        model.names.push_back(name);
    if (!model.names.empty() && model.names.size() != model.words)
        return damaged_result(file, "has " + counted(model.names.size(), "word") + " instead of " +
                                        std::to_string(model.words));
    std::unordered_set<std::string> seen;
    for (const std::string& name : model.names)
        if (!seen.insert(name).second)
            return bad(file, "has the word \"" + printable(name, troupe::limits::name_bytes_max) +
                                 "\" twice, so that its topics are not known; train with data in "
                                 "which each word is one column");
    return {};
}

} // namespace

result<topic_model> load_model(const std::filesystem::path& directory) {
    auto model = read_summary(directory / "summary.json");
    if (!model)
        return model;
    if (auto counts = read_counts(directory / "word_topics.npy", *model); !counts)
        return counts.failure();
    if (auto names = read_names(directory / "words.txt", *model); !names)
        return names.failure();
    return model;
}

} // namespace troupe::lda
