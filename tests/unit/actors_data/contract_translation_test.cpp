// The contract of readers (tests/support/file_forms.hpp): pairs of sentences, and vocabularies.
#include <array>

#include <sentencepiece_trainer.h>

#include "actors/data/samples/parallel_text.hpp"
#include "actors/data/samples/subwords.hpp"
#include "schemas/base/limits.hpp"
#include "tests/support/file_forms.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// "cat=Katze / dog=Hund"
reading pairs_in(const result<parallel_text>& found) {
    if (!found)
        return refusal(found);
    std::string all;
    for (const auto& [source, target] : found->pairs)
        all.append(all.empty() ? "" : " / ").append(source).append("=").append(target);
    return {all, {}, found->notes};
}

reading table_in(const std::string& path) {
    return pairs_in(read_parallel_text(path, ""));
}

const std::string mark = "\xef\xbb\xbf";
const std::string pair_of_cats = "cat=Katze / dog=Hund";

std::string utf16(const std::string& text, const std::string& first) {
    std::string all = first;
    for (const char c : text)
        all.append(1, c).append(1, '\0');
    return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(contract_of_translation)

BOOST_AUTO_TEST_CASE(pairs_in_one_file) {
    const table_of forms{
        "parallel text",
        {
            {"tabs", "cat\tKatze\ndog\tHund\n", pair_of_cats},
            {"without a last line end", "cat\tKatze\ndog\tHund", pair_of_cats},
            {"lines of Windows and a mark of the order of bytes",
             mark + "cat\tKatze\r\ndog\tHund\r\n", pair_of_cats},
            {"empty and blank lines", "\ncat\tKatze\n \t\xc2\xa0\n\xe3\x80\x80\ndog\tHund\n\n",
             pair_of_cats},
            {"one language alone",
             "cat\tKatze\ndog\t\n\xe2\x80\x8b\tHund\ndog\tHund\n",
             pair_of_cats,
             {},
             "2 of 4 pairs have one sentence, and are left out"},
            {"where pairs are from",
             "cat\tKatze\tCC-BY\ndog\tHund\t\n",
             pair_of_cats,
             {},
             "1 line with text behind a second tab, which is left out"},
            {"numbers of sentences", "1\tcat\t7\tKatze\n2\tdog\t8\tHund\n", "",
             "line 2: one of the first two columns has numbers alone; cut out the columns"},
            {"numbers and a language", "1\teng\tcat\n2\teng\tdog\n", "", "has numbers alone"},
            {"numbers as a language",
             "1\tone\n2\ttwo\n",
             "1=one / 2=two",
             {},
             "the sentences of one language are numbers in order"},
            {"numbers to be spelled", "7\tseven\n2\ttwo\n", "7=seven / 2=two"},
            {"names of columns",
             "Source\tTarget\ncat\tKatze\n",
             "Source=Target / cat=Katze",
             {},
             "the first pair is \"Source\" and \"Target\", which is taken for sentences"},
            {"names of languages",
             "en\tde\ncat\tKatze\n",
             "en=de / cat=Katze",
             {},
             "if these are names of columns, take the line out"},
            {"quotation marks", "\"cat\"\t\"Katze\"\n", "\"cat\"=\"Katze\""},
            {"quotation marks of CSV",
             "\"a \"\"cat\"\"\"\tKatze\n",
             "\"a \"\"cat\"\"\"=Katze",
             {},
             "1 of 1 pairs have quotation marks around and doubled ones within"},
            {"one language twice",
             "cat\tcat\ndog\tdog\n",
             "cat=cat / dog=dog",
             {},
             "every sentence is its own translation; are these two languages?"},
            {"commas", "cat,Katze\n", "", "line 1: no tab between two sentences; put one in"},
            {"bars", "cat\tKatze\ndog ||| Hund\n", "", "line 2: no tab between two sentences"},
            {"Latin-1", "cat\tKatze\nowl\tK\xe4uzchen\n", "",
             "line 2: the byte 0xe4 is not UTF-8; convert the text, as by iconv -f latin1"},
            {"cut off", "caf\xc3\xa9\tKaffee \xc3\n", "", "though the text before it is"},
            {"Windows-1252", "cat\t\x84Katze\x93\n", "", "iconv -f cp1252 -t utf-8"},
            {"a NUL byte", std::string{"cat\tKat\0ze\n", 11}, "", "line 1: a NUL byte"},
            {"UTF-16", utf16("cat\tKatze\n", "\xff\xfe"), "", "in UTF-16; convert it by iconv"},
            {"UTF-16 without a mark", utf16("cat\tKatze\n", ""), "", "if it is in UTF-16, convert"},
            {"UTF-16 of the other order", std::string{"\xfe\xff\0c\0\t\0K", 8}, "", "in UTF-16"},
            {"lines of old Macs", "cat\tKatze\rdog\tHund\r", "", "carriage returns alone"},
            {"TMX", "<?xml version=\"1.0\"?>\n<tmx>\n", "", "line 1: markup, such as XML, SGML"},
            {"JSON", "{\"en\": \"cat\", \"de\": \"Katze\"}\n", "",
             "line 1: JSON, which is not read"},
            {"a line that is too long", "a\t" + std::string(limits::text_line_bytes_max, 'b'), "",
             "line 1: a line of more than"},
            {"Parquet", "PAR1\x15\x04" + std::string(300, '\0'), "", "a Parquet file; convert it"},
            {"zip", "PK\x03\x04", "", "a zip archive; unpack it"},
            {"the first bytes of xz",
             "\xfd"
             "7zX",
             "", "truncated: the first 4 bytes of data"},
            {"the first bytes of zstd", "\x28\xb5\x2f\xfd", "", "data packed by zstd; unpack it"},
            {"blank lines alone", "\n \n", "", "no line has a sentence and its translation"},
            {"nothing", "", "", "no line has a sentence and its translation; give some"},
        }};
    forms.check(table_in);
    const data_files files;
    check_form({"gzip", {}, pair_of_cats}, files.gzip("file", "cat\tKatze\ndog\tHund\n"), table_in);
}

BOOST_AUTO_TEST_CASE(pairs_in_two_files) {
    const table_of forms{
        "parallel text",
        {
            {"lines", "Katze\nHund\n", pair_of_cats},
            {"without a last line end", "Katze\nHund", pair_of_cats},
            {"lines of Windows and a mark of the order of bytes", mark + "Katze\r\nHund\r\n",
             pair_of_cats},
            {"a tab in a sentence", "Katze\tKater\nHund\n", "cat=Katze\tKater / dog=Hund"},
            {"an empty line", "Katze\n\n", "cat=Katze", {}, "1 of 2 pairs have one sentence"},
            {"a table of both languages", "cat\tKatze\ndog\tHund\n", "",
             "every line has a tab, as if it were a table; give a file with the sentences alone"},
            {"numbered sentences", "1\tKatze\n2\tHund\n", "", "every line has a tab"},
            {"fewer lines", "Katze\n", "", "line 1: the file ends after 1 line, but "},
            {"more lines", "Katze\nHund\n\n", "", "the file ends after 3 lines, but "},
            {"SGML", "<refset>\n</refset>\n", "", "line 1: markup"},
            {"lines of JSON", "{\"text\": \"Katze\"}\n{\"text\": \"Hund\"}\n", "", "line 1: JSON"},
            {"Latin-1", "Katze\nK\xe4uzchen\n", "", "line 2: the byte 0xe4 is not UTF-8"},
            {"a NUL byte", std::string{"Kat\0ze\nHund\n", 12}, "", "line 1: a NUL byte"},
            {"UTF-16", utf16("Katze\nHund\n", "\xff\xfe"), "", "in UTF-16; convert it by iconv"},
            {"lines of old Macs", "Katze\rHund\r", "", "carriage returns alone"},
            {"four letters that begin a Parquet file", "PAR1\nHund\n", "cat=PAR1 / dog=Hund"},
            {"nothing", "", "", "the file ends after 0 lines"},
        }};
    const data_files files;
    const std::string source = files.plain("source", "cat\ndog\n");
    const auto translated = [&](const std::string& path) {
        return pairs_in(read_parallel_text(source, path));
    };
    forms.check(translated);
    check_form({"gzip", {}, pair_of_cats}, files.gzip("file", "Katze\nHund\n"), translated);
}

namespace {

class few_lines final : public sentencepiece::SentenceIterator {
  public:
    bool done() const override { return next_ == lines_.size(); }
    void Next() override { ++next_; }
    const std::string& value() const override { return lines_[next_]; }
    sentencepiece::util::Status status() const override { return {}; }

  private:
    std::vector<std::string> lines_{"the cat sees the dog", "the dog sees a cat", "a dog"};
    std::size_t next_ = 0;
};

// A model by the library's own trainer. `ids`: tokens of padding, the unknown, begin and end of a sentence.
std::string trained(const std::string& type, const std::array<const char*, 4>& ids) {
    few_lines lines;
    std::string model;
    const auto done = sentencepiece::SentencePieceTrainer::Train({{"model_type", type},
                                                                  {"vocab_size", "30"},
                                                                  {"hard_vocab_limit", "false"},
                                                                  {"pad_id", ids[0]},
                                                                  {"unk_id", ids[1]},
                                                                  {"bos_id", ids[2]},
                                                                  {"eos_id", ids[3]},
                                                                  {"num_threads", "1"},
                                                                  {"minloglevel", "3"}},
                                                                 &lines, &model);
    BOOST_TEST_REQUIRE(done.ok(), done.ToString());
    return model;
}

constexpr std::array<const char*, 4> our_ids{"0", "1", "2", "3"};

// "the cat": a sentence, encoded and decoded
reading vocabulary_in(const std::string& path) {
    const auto found = subwords::load(path);
    if (!found)
        return refusal(found);
    return {found->decode(found->encode("the cat")), {}};
}

// A token as it stands in a model.
std::string stored_token(const std::string& text) {
    const std::string body = "\x0a" + std::string(1, static_cast<char>(text.size())) + text;
    return "\x0a" + std::string(1, static_cast<char>(body.size())) + body;
}

std::size_t bytes_of_tokens(const std::string& model, std::size_t count) {
    std::size_t bytes = 0;
    while (count-- > 0)
        bytes += 2 + static_cast<std::size_t>(model[bytes + 1]);
    return bytes;
}

} // namespace

BOOST_AUTO_TEST_CASE(vocabularies) {
    const std::string bpe = trained("bpe", our_ids);
    const std::string cat = stored_token("cat");
    const table_of forms{
        "SentencePiece",
        {
            {"byte pairs", bpe, "the cat"},
            {"unigrams", trained("unigram", our_ids), "the cat"},
            {"characters", trained("char", our_ids), "the cat"},
            {"words", trained("word", our_ids), "the cat"},
            {"the special tokens that the trainer makes unasked",
             trained("bpe", {"-1", "0", "1", "2"}), "",
             "make it with --pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3"},
            {"no end of a sentence", trained("bpe", {"0", "1", "2", "-1"}), "",
             "without begin and end of a sentence"},
            {"a token twice", bpe + cat + cat, "", "no SentencePiece model ("},
            {"an empty token", bpe + stored_token(""), "", "no SentencePiece model ("},
            {"cut within a token", bpe.substr(0, 10), "", "no SentencePiece model ("},
            {"cut behind a token", bpe.substr(0, bytes_of_tokens(bpe, 9)), "",
             "truncated: a SentencePiece model without what follows its tokens; fetch the file"},
            {"the list of tokens beside a model", "<pad>\t0\n<unk>\t0\n<s>\t0\n", "",
             "give the file that ends by .model"},
            {"a list of words", "the\ncat\n", "", "give the file that ends by .model"},
            {"JSON of other libraries", "{\"model\": {\"vocab\": {\"the\": 0}}}\n", "",
             "give the file that ends by .model"},
            {"zip", "PK\x03\x04", "", "a zip archive"},
            {"nothing", "", "", "no SentencePiece model ("},
        }};
    forms.check(vocabulary_in, "words.model");
    const data_files files;
    check_form({"gzip", {}, "the cat"}, files.gzip("words.model", bpe), vocabulary_in);
}

BOOST_AUTO_TEST_CASE(vocabularies_that_are_cut_behind_any_byte) {
    const std::string whole = trained("bpe", our_ids);
    const data_files files;
    const auto check_cut = [&](std::size_t bytes) {
        BOOST_TEST(!subwords::load(files.plain("cut.model", whole.substr(0, bytes))).ok(), bytes);
    };
    for (std::size_t bytes = 0; bytes < 1000; ++bytes) // its tokens, and how it was made
        check_cut(bytes);
    for (std::size_t bytes = 1000; bytes < whole.size(); bytes += 9973)
        check_cut(bytes);
    for (std::size_t bytes = whole.size() - 20; bytes < whole.size(); ++bytes)
        check_cut(bytes);
}

BOOST_AUTO_TEST_SUITE_END()
