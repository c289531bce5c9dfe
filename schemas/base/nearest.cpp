#include "schemas/base/nearest.hpp"

#include <algorithm>
#include <numeric>

namespace troupe {

namespace {

// Levenshtein's distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row[b.size()];
}

std::string small_letters(std::string_view text) {
    std::string small{text};
    for (char& c : small)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return small;
}

} // namespace

std::string nearest(std::string_view wrong, const std::vector<std::string>& candidates) {
    constexpr std::size_t longest = 64;
    std::string best;
    std::size_t best_distance = std::max<std::size_t>(2, wrong.size() / 3) + 1;
    if (wrong.size() > longest)
        return best;
    const std::string in_small_letters = small_letters(wrong);
    for (const std::string& candidate : candidates) {
        const std::size_t distance = edit_distance(in_small_letters, small_letters(candidate));
        if (distance < best_distance && distance < candidate.size()) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

std::string guess(std::string_view wrong, const std::vector<std::string>& candidates) {
    const std::string best = nearest(wrong, candidates);
    return best.empty() ? "" : "did you mean \"" + best + "\"? ";
}

std::string join(const std::vector<std::string>& words) {
    std::string row;
    for (const std::string& word : words)
        row.append(row.empty() ? "" : ", ").append(word);
    return row;
}

std::string alternatives(const std::vector<std::string>& words) {
    std::string out;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0)
            out += i + 1 == words.size() ? " or " : ", ";
        out += words[i];
    }
    return out;
}

std::string suggestion(std::string_view wrong, const std::vector<std::string>& candidates) {
    const std::string best = nearest(wrong, candidates);
    return best.empty() ? "expected " + alternatives(candidates) : "did you mean \"" + best + "\"?";
}

} // namespace troupe
