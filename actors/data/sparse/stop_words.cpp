#include "actors/data/sparse/stop_words.hpp"

namespace troupe {

namespace {

constexpr std::string_view words[] = {
    // articles, demonstratives, quantities
    "a", "an", "the", "this", "that", "these", "those", "some", "any", "each", "every", "either",
    "neither", "both", "all", "many", "much", "few", "more", "most", "less", "least", "other",
    "others", "another", "such", "same", "own", "no", "several", "enough", "one", "ones",
    // pronouns
    "i", "me", "my", "mine", "myself", "you", "your", "yours", "yourself", "yourselves", "he",
    "him", "his", "himself", "she", "her", "hers", "herself", "it", "its", "itself", "we", "us",
    "our", "ours", "ourselves", "they", "them", "their", "theirs", "themselves", "who", "whom",
    "whose", "which", "what", "whatever", "whichever", "whoever", "someone", "something", "anyone",
    "anything", "everyone", "everything", "nobody", "nothing", "none",
    // auxiliary verbs
    "am", "is", "are", "was", "were", "be", "been", "being", "have", "has", "had", "having", "do",
    "does", "did", "doing", "done", "can", "could", "may", "might", "must", "shall", "should",
    "will", "would", "ought", "cannot", "let",
    // prepositions
    "of", "in", "on", "at", "by", "to", "from", "into", "onto", "with", "within", "without", "for",
    "about", "above", "across", "after", "against", "along", "among", "around", "as", "before",
    "behind", "below", "beneath", "beside", "besides", "between", "beyond", "down", "during",
    "except", "near", "off", "out", "over", "per", "since", "through", "throughout", "toward",
    "towards", "under", "until", "up", "upon", "via",
    // conjunctions
    "and", "or", "nor", "but", "if", "unless", "because", "although", "though", "while", "whereas",
    "whether", "than", "so", "when", "whenever", "where", "wherever", "why", "how", "however",
    "therefore", "thus", "hence", "otherwise",
    // adverbs
    "not", "very", "too", "also", "just", "only", "even", "still", "yet", "again", "already",
    "always", "never", "ever", "often", "sometimes", "usually", "now", "then", "once", "here",
    "there", "thereby", "therein", "perhaps", "quite", "rather", "almost", "else", "further",
    "instead", "away",
    // what is left at an apostrophe
    "s", "t", "d", "m", "ll", "re", "ve", "don", "doesn", "didn", "isn", "aren", "wasn", "weren",
    "hasn", "haven", "hadn", "won", "wouldn", "shouldn", "couldn", "mustn"};

} // namespace

std::span<const std::string_view> english_stop_words() noexcept {
    return words;
}

} // namespace troupe
