#include "actors/data/sparse/word_stems.hpp"

#include <new>

#include <libstemmer.h>

namespace troupe {

void word_stems::deleter::operator()(sb_stemmer* stemmer) const noexcept {
    sb_stemmer_delete(stemmer);
}

result<word_stems> word_stems::of(const std::string& language) {
    sb_stemmer* const made = sb_stemmer_new(language.c_str(), "UTF_8");
    if (made == nullptr)
        return error{errc::usage, "the stems of " + language + " are not in the installed " +
                                      "libstemmer; choose none, or install a newer one"};
    return word_stems{made};
}

std::string_view word_stems::stem(std::string_view word) {
    const sb_symbol* const made =
        sb_stemmer_stem(stemmer_.get(), reinterpret_cast<const sb_symbol*>(word.data()),
                        static_cast<int>(word.size()));
    if (made == nullptr)
        throw std::bad_alloc{}; // the only failure that it has
    return {reinterpret_cast<const char*>(made),
            static_cast<std::size_t>(sb_stemmer_length(stemmer_.get()))};
}

} // namespace troupe
