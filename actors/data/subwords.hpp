// A vocabulary of subwords (byte-pair encoding, by the SentencePiece library): text to tokens.
//
// Token 0 is padding; unknown characters and the begin and the end of a sentence have tokens, too.
//
// Threads: encode() and decode() are thread-safe, everything else belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/error.hpp"

namespace troupe {

class subwords {
  public:
    static constexpr std::int32_t padding = 0;

    // A vocabulary of at most `tokens` tokens, made from these lines. The same lines, the same vocabulary. errc::data if so
    // few tokens cannot do for the characters of the text.
    static result<subwords> make(const std::vector<std::string_view>& lines, std::size_t tokens);
    // Of a file that save() has written, or that SentencePiece has made with padding as token 0. What is no model is
    // refused; the library does not find every damage inside one, so this is for files that their reader trusts.
    static result<subwords> load(const std::filesystem::path& file);

    // Replaces the file at once or not at all; makes its folder. errc::io.
    result<void> save(const std::filesystem::path& file) const;

    std::string sha256() const; // of the file, 64 hexadecimal digits
    std::size_t tokens() const noexcept;
    std::int32_t sentence_begin() const noexcept;
    std::int32_t sentence_end() const noexcept;
    // Without the begin and the end. Broken UTF-8 becomes unknown characters.
    std::vector<std::int32_t> encode(std::string_view line) const;
    // The parts of a line that encode() has an unknown character for, in order.
    std::vector<std::string> unknown(std::string_view line) const;
    // The line that tokens stand for; those that the vocabulary has not, and padding, begin and end, say nothing.
    std::string decode(std::span<const std::int32_t> tokens) const;

    ~subwords();
    subwords(subwords&&) noexcept;
    subwords& operator=(subwords&&) noexcept;

  private:
    struct model;
    explicit subwords(std::unique_ptr<model> m);
    static result<subwords> of(std::string serialized);

    std::unique_ptr<model> model_;
};

} // namespace troupe
