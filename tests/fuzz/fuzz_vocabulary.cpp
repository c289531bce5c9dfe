// Fuzz target: arbitrary bytes as a vocabulary of SentencePiece.
#include <sentencepiece_trainer.h>

#include "actors/data/samples/subwords.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/made_files.hpp"

namespace troupe::fuzz {

namespace {

std::vector<std::string> lines() {
    std::vector<std::string> all;
    for (int i = 0; i < 40; ++i)
        all.push_back("line " + std::to_string(i * 37) + " of a small text, the last of these");
    return all;
}

// As SentencePiece's own tools make it, without a table of rewritten characters, which would be nearly all of it.
std::string made_by_sentencepiece(const std::string& type) {
    const test::data_files files;
    std::string text;
    for (const std::string& line : lines())
        text += line + "\n";
    const auto made =
        sentencepiece::SentencePieceTrainer::Train({{"input", files.plain("text", text)},
                                                    {"model_prefix", files.folder() / "made"},
                                                    {"model_type", type},
                                                    {"vocab_size", "60"},
                                                    {"hard_vocab_limit", "false"},
                                                    {"pad_id", "0"},
                                                    {"unk_id", "1"},
                                                    {"bos_id", "2"},
                                                    {"eos_id", "3"},
                                                    {"normalization_rule_name", "identity"},
                                                    {"minloglevel", "3"}});
    TROUPE_CHECK(made.ok(), "a vocabulary is made of a small text");
    return files.read(files.folder() / "made.model");
}

} // namespace

bool read(std::span<const std::byte> in) {
    static memory_file file;
    const auto vocabulary = subwords::load(file.with(in));
    if (!vocabulary) {
        check_refusal(vocabulary.failure());
        return false;
    }
    std::vector<std::int32_t> all;
    for (std::size_t i = 0; i < vocabulary->tokens() && i < 1000; ++i)
        all.push_back(static_cast<std::int32_t>(i));
    (void)vocabulary->decode(all);
    for (const char* line :
         {"", "a small line, 42", "\xc3\xa4\xef\xbc\xa1 \xff \xe2\x96\x81\xe2\x96\x81 zz"}) {
        (void)vocabulary->decode(vocabulary->encode(line));
        (void)vocabulary->unknown(line);
    }
    return true;
}

std::vector<std::string> sound_inputs() {
    const test::data_files files;
    const auto text = lines();
    const auto own = subwords::make({text.begin(), text.end()}, 60);
    TROUPE_CHECK(own.ok() && own->save(files.folder() / "own").ok(), "a vocabulary is kept");
    std::vector<std::string> all{files.read(files.folder() / "own")};
    for (const char* type : {"bpe", "unigram", "char", "word"})
        all.push_back(made_by_sentencepiece(type));
    return all;
}

} // namespace troupe::fuzz
