// A vocabulary of subwords (byte-pair encoding, by the SentencePiece library): text to tokens.
//
// Token 0 is padding; unknown characters and the begin and the end of a sentence have tokens, too.
//
// Threads: encode() and decode() are thread-safe; everything else is for one thread at a time.
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
    static constexpr std::size_t line_bytes_max = 4192; // make() passes over longer lines

    // A vocabulary of at most `tokens` tokens made from these lines; the same lines give the same vocabulary. errc::data if
    // `tokens` is too small for the characters of the text.
    static result<subwords> make(const std::vector<std::string_view>& lines, std::size_t tokens);
    // The vocabulary of a file written by save(), or by SentencePiece with padding as token 0. A file that is no model is
    // refused; as the library does not detect all damage inside a model, load only trusted files.
    static result<subwords> load(const std::filesystem::path& file);

    // Replaces the file atomically; creates its folder. errc::io.
    result<void> save(const std::filesystem::path& file) const;

    std::string sha256() const; // of the file, 64 hexadecimal digits
    std::size_t tokens() const noexcept;
    std::int32_t unknown_token() const noexcept;
    std::int32_t sentence_begin() const noexcept;
    std::int32_t sentence_end() const noexcept;
    // The line's tokens without begin and end. Invalid UTF-8 becomes unknown characters.
    std::vector<std::int32_t> encode(std::string_view line) const;
    // The parts of a line that encode() has an unknown character for, in order.
    std::vector<std::string> unknown(std::string_view line) const;
    // The text of these tokens; unknown tokens, padding, begin and end are skipped.
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
