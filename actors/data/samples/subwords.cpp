#include "actors/data/samples/subwords.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#include <sodium.h>

#include "actors/data/files/input_file.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

namespace {

namespace fs = std::filesystem;
namespace sp = sentencepiece;

// Passes lines to the trainer.
class line_iterator final : public sp::SentenceIterator {
  public:
    explicit line_iterator(const std::vector<std::string_view>& lines) : lines_{lines} { fetch(); }

    bool done() const override { return next_ >= lines_.size(); }
    void Next() override {
        ++next_;
        fetch();
    }
    const std::string& value() const override { return line_; }
    sp::util::Status status() const override { return {}; }

  private:
    void fetch() {
        if (!done())
            line_ = lines_[next_];
    }

    const std::vector<std::string_view>& lines_;
    std::size_t next_ = 0;
    std::string line_;
};

std::string sentence(const sp::util::Status& status) {
    return printable(status.message(), limits::reason_bytes_max / 8);
}

// The error if no vocabulary can be made. The usual reason is too small a number of tokens; then the trainer's message,
// which is meant for programmers, has a sufficient number after "vs".
error refusal(const sp::util::Status& status, std::size_t tokens) {
    const std::string no =
        "no vocabulary of " + std::to_string(tokens) + " tokens can be made of this text";
    const std::string said{status.message()};
    const std::string before = "required_chars. " + std::to_string(tokens) + " vs ";
    const std::size_t at = said.find(before);
    if (at == std::string::npos)
        return {errc::data, no + "; give more tokens, or text with lines of at most " +
                                std::to_string(subwords::line_bytes_max) + " bytes"};
    const std::string enough = said.substr(at + before.size());
    return {errc::data,
            no + "; give at least " + enough.substr(0, enough.find_first_not_of("0123456789"))};
}

// The library reports some kinds of damage by an exception.
sp::util::Status parsed(sp::SentencePieceProcessor& processor, const std::string& serialized) {
    try {
        return processor.LoadFromSerializedProto(serialized);
    } catch (const std::exception& thrown) {
        return {sp::util::StatusCode::kInternal, thrown.what()};
    }
}

// Takes a number of variable length from the bytes; none where they end within it.
std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(bytes[0]);
        bytes.remove_prefix(1);
        value |= std::uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80)
            return value;
    }
    return std::nullopt;
}

// A model is its tokens, then how it was made (field 2), then how text is normalised (field 3), all of them fields with a
// length. The library takes a file without the latter, which one is that was cut behind a token, and encodes otherwise
// with it. Sources: sentencepiece_model.proto of SentencePiece; the encoding of Protocol Buffers.
bool has_all_parts(std::string_view serialized) {
    std::uint64_t seen = 0;
    while (!serialized.empty()) {
        const auto key = take_varint(serialized);
        const auto length = take_varint(serialized);
        if (!key || !length || (*key & 7u) != 2 || *length > serialized.size())
            return false;
        serialized.remove_prefix(*length);
        seen |= *key >> 3 < 64 ? std::uint64_t{1} << (*key >> 3) : 0;
    }
    return (seen >> 2 & 3) == 3;
}

} // namespace

struct subwords::model {
    std::string serialized;
    sp::SentencePieceProcessor processor;
};

subwords::subwords(std::unique_ptr<model> m) : model_{std::move(m)} {}
subwords::~subwords() = default;
subwords::subwords(subwords&&) noexcept = default;
subwords& subwords::operator=(subwords&&) noexcept = default;

result<subwords> subwords::of(std::string serialized) {
    auto made = std::make_unique<model>();
    made->serialized = std::move(serialized);
    const auto loaded = parsed(made->processor, made->serialized);
    if (!loaded.ok())
        return error{errc::data, "byte 0: no SentencePiece model (" + sentence(loaded) +
                                     "); give the file that ends by .model"};
    if (!has_all_parts(made->serialized))
        return error{errc::data, "byte " + std::to_string(made->serialized.size()) +
                                     ": truncated: a SentencePiece model without what follows its "
                                     "tokens; fetch the file again"};
    const auto& p = made->processor;
    if (p.pad_id() != padding || p.bos_id() < 0 || p.eos_id() < 0 || p.unk_id() < 0)
        return error{errc::data, "byte 0: a vocabulary whose token 0 is not padding, or without "
                                 "begin and end of a sentence; make it with --pad_id=0 --unk_id=1 "
                                 "--bos_id=2 --eos_id=3"};
    return subwords{std::move(made)};
}

result<subwords> subwords::make(const std::vector<std::string_view>& lines, std::size_t tokens) {
    line_iterator sentences{lines};
    std::string serialized;
    const auto trained =
        sp::SentencePieceTrainer::Train({{"model_type", "bpe"},
                                         {"vocab_size", std::to_string(tokens)},
                                         {"hard_vocab_limit", "false"},
                                         {"pad_id", std::to_string(padding)},
                                         {"unk_id", "1"},
                                         {"bos_id", "2"},
                                         {"eos_id", "3"},
                                         {"max_sentence_length", std::to_string(line_bytes_max)},
                                         {"num_threads", "1"},
                                         {"minloglevel", "3"}},
                                        &sentences, &serialized);
    if (!trained.ok())
        return refusal(trained, tokens);
    return of(std::move(serialized));
}

result<subwords> subwords::load(const fs::path& file) {
    const auto model = read_whole(file);
    if (!model)
        return model.failure();
    auto loaded = of({model->bytes.begin(), model->bytes.end()});
    return loaded ? std::move(loaded) : loaded.failure().in(file.string());
}

result<void> subwords::save(const fs::path& file) const {
    const auto refuse = [&](const std::string& why) {
        return error{errc::io, file.string() + ": cannot be written: " + why};
    };
    std::error_code failed;
    if (file.has_parent_path())
        fs::create_directories(file.parent_path(), failed);
    if (failed)
        return refuse(failed.message());
    const fs::path part = file.string() + ".part-" + std::to_string(getpid());
    std::ofstream out{part, std::ios::binary};
    out << model_->serialized << std::flush;
    out.close();
    if (out)
        fs::rename(part, file, failed);
    if (out && !failed)
        return {};
    std::error_code ignored;
    fs::remove(part, ignored);
    return refuse(failed ? failed.message() : "no permission, or the disk is full");
}

std::string subwords::sha256() const {
    const std::string& file = model_->serialized;
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(digest, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    char text[2 * sizeof digest + 1];
    return sodium_bin2hex(text, sizeof text, digest, sizeof digest);
}
std::size_t subwords::tokens() const noexcept {
    return static_cast<std::size_t>(model_->processor.GetPieceSize());
}
std::int32_t subwords::unknown_token() const noexcept {
    return model_->processor.unk_id();
}
std::int32_t subwords::sentence_begin() const noexcept {
    return model_->processor.bos_id();
}
std::int32_t subwords::sentence_end() const noexcept {
    return model_->processor.eos_id();
}

std::vector<std::int32_t> subwords::encode(std::string_view line) const {
    std::vector<int> ids;
    const auto encoded =
        model_->processor.Encode(absl::string_view{line.data(), line.size()}, &ids);
    TROUPE_CHECK(encoded.ok(), "a loaded vocabulary encodes any text");
    return {ids.begin(), ids.end()};
}

std::vector<std::string> subwords::unknown(std::string_view line) const {
    std::vector<std::string> pieces, found;
    const auto encoded =
        model_->processor.Encode(absl::string_view{line.data(), line.size()}, &pieces);
    TROUPE_CHECK(encoded.ok(), "a loaded vocabulary encodes any text");
    // By its token: the text of an unknown piece may be the name of another, such as "<s>".
    const std::vector<std::int32_t> tokens = encode(line);
    TROUPE_CHECK(tokens.size() == pieces.size(), "a line has one encoding");
    for (std::size_t i = 0; i < tokens.size(); ++i)
        if (tokens[i] == unknown_token())
            found.push_back(pieces[i]);
    return found;
}

std::string subwords::decode(std::span<const std::int32_t> all) const {
    std::vector<int> ids;
    std::ranges::copy_if(all, std::back_inserter(ids), [this](std::int32_t id) {
        return id >= 0 && static_cast<std::size_t>(id) < tokens();
    });
    std::string line;
    const auto decoded = model_->processor.Decode(ids, &line);
    TROUPE_CHECK(decoded.ok(), "a loaded vocabulary decodes its own tokens");
    return line;
}

} // namespace troupe
