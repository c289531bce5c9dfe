#include "actors/app_file/synonyms.hpp"

#include <algorithm>

#include "schemas/base/nearest.hpp"

namespace troupe::app_file {

namespace {

std::string plain(std::string_view word) {
    word.remove_prefix(word.rfind('.') + 1); // none is the last of all numbers
    std::string small;
    for (const char c : word)
        if (c != ' ' && c != '-' && c != '_')
            small += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return small;
}

// Our word for this one; empty if none is known.
std::string_view find(std::span<const app_synonym> in, std::string_view word) {
    const auto found = std::ranges::find(in, plain(word), &app_synonym::word);
    return found == in.end() ? std::string_view{} : found->ours;
}

// The candidate that this word stands for; empty if there is none.
std::string_view meant_by(const app_words& words, std::string_view word,
                          const std::vector<std::string>& candidates) {
    const std::string_view ours = find(words.values, word);
    return std::ranges::find(candidates, ours) != candidates.end() ? ours : std::string_view{};
}

} // namespace

std::string_view key_for(const app_words& words, std::string_view word) {
    return find(words.keys, word);
}

std::string hint(const app_words& words, std::string_view wrong,
                 const std::vector<std::string>& candidates) {
    if (const std::string_view meant = meant_by(words, wrong, candidates); !meant.empty())
        return "did you mean \"" + std::string{meant} + "\"?";
    if (const std::string_view sentence = find(words.sentences, wrong); !sentence.empty())
        return std::string{sentence};
    return suggestion(wrong, candidates);
}

std::string key_hint(const app_words& words, std::string_view wrong,
                     const std::vector<std::string>& candidates) {
    const std::string_view key = key_for(words, wrong);
    if (key.empty() || !meant_by(words, wrong, candidates).empty())
        return hint(words, wrong, candidates);
    return "what it sets elsewhere is " + std::string{key} + " here";
}

} // namespace troupe::app_file
