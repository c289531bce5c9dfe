// Stems of words, by the algorithms of Snowball (libstemmer): "connected" and "connections" are "connect".
//
// Threads: each object belongs to one thread at a time. Source: M. F. Porter, https://snowballstem.org.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "schemas/base/error.hpp"

struct sb_stemmer;

namespace troupe {

class word_stems {
  public:
    // `language`: as Snowball names it, "english". Errors: errc::usage if this build's library has no such language.
    static result<word_stems> of(const std::string& language);

    // The stem of a word in lower case, in UTF-8; valid until the next call.
    std::string_view stem(std::string_view word);

  private:
    struct deleter {
        void operator()(sb_stemmer* stemmer) const noexcept;
    };
    explicit word_stems(sb_stemmer* stemmer) : stemmer_{stemmer} {}

    std::unique_ptr<sb_stemmer, deleter> stemmer_;
};

} // namespace troupe
