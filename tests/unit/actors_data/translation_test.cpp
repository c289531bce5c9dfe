#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include "actors/data/samples/subwords.hpp"
#include "actors/data/samples/translation.hpp"
#include "tests/support/data_files.hpp"
#include "tests/support/data_values.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using tokens = std::vector<std::int32_t>;

const std::string english =
    "the cat sees the dog\nthe dog sees the cat\na cat and a dog\nthe dog and the cat\n";
const std::string german = "die Katze sieht den Hund\nder Hund sieht die Katze\neine Katze und ein "
                           "Hund\nder Hund und die Katze\n";

struct wanted {
    std::string train_source;
    std::string train_target = {};
    std::string test_source = {};
    std::string test_target = {};
    std::string vocabulary_file = {};
    std::uint32_t vocabulary = 60;
    std::uint32_t source_length = 8;
    tensor_shape input = {20};
};

result<data_sets> load(const wanted& w) {
    capnp::MallocMessageBuilder message;
    auto data = message.initRoot<proto::Data>();
    auto t = data.initTranslation();
    t.setTrainSource(w.train_source.c_str());
    if (!w.train_target.empty())
        t.setTrainTarget(w.train_target.c_str());
    t.setTestSource((w.test_source.empty() ? w.train_source : w.test_source).c_str());
    if (const auto& target = w.test_source.empty() ? w.train_target : w.test_target;
        !target.empty())
        t.setTestTarget(target.c_str());
    t.setVocabularyFile(w.vocabulary_file.c_str());
    t.setVocabulary(w.vocabulary);
    t.setSourceLength(w.source_length);
    return load_data(data.asReader(), w.input, 1);
}

struct corpus : data_files {
    std::string en = plain("train.en", english);
    std::string de = plain("train.de", german);
    std::string model = (folder() / "made" / "words.model").string();
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(translation, corpus)

BOOST_AUTO_TEST_CASE(a_row_is_the_source_then_the_target_and_labels_are_what_comes_next) {
    const auto sets = load({.train_source = en, .train_target = de, .vocabulary_file = model});
    BOOST_REQUIRE_MESSAGE(sets.ok(), (sets.ok() ? "" : sets.failure().message()));
    BOOST_TEST(sets->train.size() == 4u);
    BOOST_TEST((sets->train.inputs.shape == tensor_shape{20}));
    BOOST_TEST((sets->train.labels.shape == tensor_shape{12}));
    const auto vocabulary = subwords::load(model);
    BOOST_REQUIRE(vocabulary.ok());
    BOOST_TEST(vocabulary->tokens() <= 60u);
    const tokens source = vocabulary->encode("a cat and a dog");
    const tokens target = vocabulary->encode("eine Katze und ein Hund");
    BOOST_REQUIRE((source.size() < 8 && target.size() < 12));
    tokens input = source;
    input.push_back(vocabulary->sentence_end());
    input.resize(8, subwords::padding);
    input.push_back(vocabulary->sentence_begin());
    input.insert(input.end(), target.begin(), target.end());
    input.resize(20, subwords::padding);
    tokens labels = target;
    labels.push_back(vocabulary->sentence_end());
    labels.resize(12, ignored_label);
    BOOST_TEST((values_of<std::int32_t>(sets->train.inputs, 2) == input));
    BOOST_TEST((values_of<std::int32_t>(sets->train.labels, 2) == labels));
}

BOOST_AUTO_TEST_CASE(a_trained_model_is_given_sentences_and_gives_them_as_in_training) {
    capnp::MallocMessageBuilder message;
    auto options = message.initRoot<proto::TranslationData>();
    options.setVocabularyFile(model.c_str());
    options.setSourceLength(8);
    BOOST_TEST(refusal_of(sentence_codec::open(options), errc::usage) ==
               "data.translation.vocabulary_file: " + model +
                   ": no such file; `troupe run` makes it");
    const auto sets = load({.train_source = en, .train_target = de, .vocabulary_file = model});
    BOOST_REQUIRE(sets.ok());
    const auto codec = sentence_codec::open(options);
    BOOST_REQUIRE(codec.ok());
    const tokens row = values_of<std::int32_t>(sets->train.inputs, 2);
    const encoded_sentence source = codec->source("a cat and a dog");
    BOOST_TEST((source.tokens == tokens(row.begin(), row.begin() + 8)));
    BOOST_TEST((source.own < 8 && source.cut == 0 && source.unknown.empty()));
    const encoded_sentence odd = codec->source("the ?? cat sees a dog and a dog and a %");
    BOOST_TEST((odd.own > 7 && odd.cut == odd.own - 7 && odd.tokens.back() == codec->end()));
    BOOST_TEST((odd.unknown == std::vector<std::string>{"??", "%"}));
    BOOST_TEST(codec->source(" ").own == 0u);
    BOOST_TEST(row[8] == codec->begin());
    const tokens labels = values_of<std::int32_t>(sets->train.labels, 2);
    BOOST_TEST(codec->sentence(labels) == "eine Katze und ein Hund");
    // What stands behind the end, and what no vocabulary has, is not said.
    tokens said = labels;
    said.insert(said.begin(), {subwords::padding, 1'000'000, codec->begin()});
    std::ranges::replace(said, ignored_label, said[3]);
    BOOST_TEST(codec->sentence(said) == "eine Katze und ein Hund");
    BOOST_TEST(codec->is_exact(said, labels));
    BOOST_TEST(!codec->is_exact(values_of<std::int32_t>(sets->train.labels, 1), labels));
    const auto end = std::ranges::find(labels, codec->end());
    BOOST_TEST(!codec->is_exact({labels.begin(), end}, {labels.begin(), end})); // cut
}

BOOST_AUTO_TEST_CASE(sentences_that_are_too_long_are_cut) {
    const auto sets = load({.train_source = en,
                            .train_target = de,
                            .vocabulary_file = model,
                            .source_length = 3,
                            .input = {5}});
    BOOST_REQUIRE(sets.ok());
    const auto vocabulary = subwords::load(model);
    const auto source = vocabulary->encode("the cat sees the dog");
    const auto target = vocabulary->encode("die Katze sieht den Hund");
    BOOST_TEST((values_of<std::int32_t>(sets->train.inputs, 0) ==
                tokens{source[0], source[1], vocabulary->sentence_end(),
                       vocabulary->sentence_begin(), target[0]}));
    BOOST_TEST((values_of<std::int32_t>(sets->train.labels, 0) == tokens{target[0], target[1]}));
}

std::vector<std::string> cuts_noted(const data_sets& sets) {
    std::vector<std::string> notes = sets.notes;
    std::erase_if(notes,
                  [](const std::string& n) { return n.find(" cut; ") == std::string::npos; });
    return notes;
}

BOOST_AUTO_TEST_CASE(how_many_sentences_are_cut_and_the_longest_is_noted) {
    const wanted good{.train_source = en, .train_target = de, .vocabulary_file = model};
    BOOST_REQUIRE(load(good).ok());
    const auto vocabulary = subwords::load(model);
    // Words of one token each, so that a line takes as many as it has words, and its end.
    const auto lines = [](const std::string& word) {
        return word + "\n" + word + " " + word + "\n" + word + " " + word + " " + word + "\n";
    };
    BOOST_REQUIRE((vocabulary->encode("the").size() == 1 && vocabulary->encode("die").size() == 1));
    wanted w = good;
    w.test_source = plain("test.en", lines("the"));
    w.test_target = plain("test.de", lines("die"));
    w.source_length = 4;
    const auto notes_at = [&](std::size_t source_length, std::size_t width) {
        w.source_length = static_cast<std::uint32_t>(source_length);
        w.input = {width};
        auto notes = cuts_noted(load(w).value());
        std::erase_if(notes, [&](const std::string& n) {
            return n.find("data.translation.test") == std::string::npos;
        });
        return notes;
    };
    const std::string longest = " and are cut; the longest takes 4 tokens, its end included";
    BOOST_TEST(notes_at(4, 8).empty());
    BOOST_TEST((notes_at(3, 6) ==
                std::vector{"data.translation.test_source: " + w.test_source +
                                ": 1 of 3 source sentences are longer than "
                                "data.translation.source_length" +
                                longest,
                            "data.translation.test_target: " + w.test_target +
                                ": 1 of 3 target sentences are longer than what model.input leaves "
                                "behind the source" +
                                longest}));
    BOOST_TEST(notes_at(4, 6).front().find("test_target: " + w.test_target + ": 2 of 3") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_vocabulary_of_fewer_tokens_than_the_key_allows_is_noted) {
    wanted w{.train_source = en, .train_target = de, .vocabulary_file = model, .vocabulary = 30};
    w.source_length = 60; // nothing is cut
    w.input = {120};
    const auto made = load(w);
    BOOST_REQUIRE(made.ok());
    BOOST_TEST(made->notes.empty());
    const std::size_t tokens = subwords::load(model)->tokens();
    BOOST_TEST(tokens == 30u);
    w.vocabulary = 32;
    const auto kept = load(w);
    BOOST_REQUIRE(kept->notes.size() == 1u);
    BOOST_TEST(kept->notes[0] ==
               "data.translation.vocabulary: allows 32 tokens, but " + model +
                   ", which is used as it is, has 30; set the key to that, or delete the file to "
                   "have a vocabulary made anew");
    BOOST_TEST(kept->vocabulary_sha256 == made->vocabulary_sha256);
    BOOST_TEST(kept->vocabulary_sha256.size() == 64u);
    std::filesystem::remove(model);
    w.vocabulary = 5000;
    const auto small = load(w);
    BOOST_REQUIRE(small->notes.size() == 1u);
    BOOST_TEST(
        small->notes[0].find("allows 5000 tokens, but the training text makes no more than ") !=
        std::string::npos);
    BOOST_TEST(small->vocabulary_sha256 != made->vocabulary_sha256);
}

BOOST_AUTO_TEST_CASE(one_file_may_hold_both_languages_with_tabs) {
    const auto both =
        gzip("both.tsv.gz", "the cat\tdie Katze\tCC-BY\r\n\nno translation\t\na dog\tein Hund");
    const auto sets = load({.train_source = both, .vocabulary_file = model});
    BOOST_REQUIRE_MESSAGE(sets.ok(), (sets.ok() ? "" : sets.failure().message()));
    BOOST_TEST(sets->train.size() == 2u);
    const auto vocabulary = subwords::load(model);
    const auto label = vocabulary->encode("die Katze");
    BOOST_TEST(values_of<std::int32_t>(sets->train.labels, 0)[label.size()] ==
               vocabulary->sentence_end());
}

BOOST_AUTO_TEST_CASE(the_vocabulary_is_made_once_and_then_loaded) {
    const auto first = load({.train_source = en, .train_target = de, .vocabulary_file = model});
    BOOST_REQUIRE(first.ok());
    const std::string made = read(model);
    std::filesystem::remove(model);
    BOOST_REQUIRE(load({.train_source = en, .train_target = de, .vocabulary_file = model}).ok());
    BOOST_TEST((read(model) == made)); // the same text, the same vocabulary
    const auto other = plain("other.en", "xyz uvw\n");
    BOOST_REQUIRE(
        load({.train_source = other, .train_target = other, .vocabulary_file = model}).ok());
    BOOST_TEST((read(model) == made));
    for (const auto& entry : std::filesystem::directory_iterator{folder() / "made"})
        BOOST_TEST(entry.path() == model); // nothing is left beside it
}

BOOST_AUTO_TEST_CASE(sentences_are_utf8_and_what_is_not_is_refused_with_its_line_and_byte) {
    const auto with = [&](const std::string& second_line) {
        return plain("odd.de", "ein\n" + second_line + "\ndrei\nvier\n");
    };
    const auto said = [&](const std::string& target) {
        const std::string at = "data.translation.train_target: " + target + ": ";
        const std::string all = refusal_of(
            load({.train_source = en, .train_target = target, .vocabulary_file = model}));
        BOOST_TEST(all.starts_with(at), all);
        return all.substr(std::min(at.size(), all.size()));
    };
    const std::string advice = " is not UTF-8; convert the text, as by iconv -f latin1 -t utf-8";
    BOOST_TEST(said(with("gr\xfc\xdf"
                         "e")) == "line 2: the byte 0xfc" + advice);
    BOOST_TEST(said(with("\xc0\xaf")) == "line 2: the byte 0xc0" + advice);         // overlong
    BOOST_TEST(said(with("\xed\xa0\x80")) == "line 2: the byte 0xed" + advice);     // a surrogate
    BOOST_TEST(said(with("\xf4\x90\x80\x80")) == "line 2: the byte 0xf4" + advice); // above all
    BOOST_TEST(said(with("gr\xc3")) == "line 2: the byte 0xc3" + advice);           // cut
    BOOST_TEST(said(with(std::string("z\0wei", 5))).starts_with("line 2: a NUL byte, "));
    BOOST_TEST(said(plain("wide.de", "\xff\xfe"
                                     "e")) ==
               "line 1: the file is in UTF-16; convert it by iconv -f UTF-16 -t UTF-8");
    BOOST_TEST(said(plain("old.de", "ein\rzwei\rdrei\rvier\r"))
                   .starts_with("line 1: the lines end by carriage returns alone; "));
    const auto both = plain("both.tsv", "the cat\tdie Katze\na dog\tein H\xfcnd\n");
    BOOST_TEST(refusal_of(load({.train_source = both, .vocabulary_file = model})) ==
               "data.translation.train_source: " + both + ": line 2: the byte 0xfc" + advice);
    BOOST_TEST(!std::filesystem::exists(model));
}

BOOST_AUTO_TEST_CASE(line_ends_and_a_byte_order_mark_are_no_part_of_a_sentence) {
    wanted w{.train_source = en, .train_target = de, .vocabulary_file = model};
    const auto plainly = load(w);
    BOOST_REQUIRE(plainly.ok());
    std::string lines = "\xef\xbb\xbf";
    for (const char c : german)
        lines += c == '\n' ? "\r\n" : std::string(1, c);
    w.train_target = plain("windows.de", lines);
    const auto marked = load(w);
    BOOST_REQUIRE(marked.ok());
    for (std::size_t i = 0; i < 4; ++i)
        BOOST_TEST((values_of<std::int32_t>(marked->train.labels, i) ==
                    values_of<std::int32_t>(plainly->train.labels, i)));
}

BOOST_AUTO_TEST_CASE(pairs_with_one_sentence_are_left_out_and_counted) {
    const wanted w{.train_source = plain("gaps.en", "the cat\n\n\na dog\n \n"),
                   .train_target = plain("gaps.de", "die Katze\nder Hund\n\n \t\nein Hund"),
                   .test_source = en,
                   .test_target = de,
                   .vocabulary_file = model};
    const auto sets = load(w);
    BOOST_REQUIRE_MESSAGE(sets.ok(), (sets.ok() ? "" : sets.failure().message()));
    BOOST_TEST(sets->train.size() == 1u);
    BOOST_TEST((sets->notes.size() > 1 &&
                sets->notes[1] == "data.translation.train_source: " + w.train_source +
                                      ": 3 of 4 pairs have one sentence, and are left out"));
}

BOOST_AUTO_TEST_CASE(sentences_with_characters_that_the_vocabulary_has_not_are_counted) {
    const wanted w{.train_source = en,
                   .train_target = de,
                   .test_source = plain("test.en", "the cat\n\xe7\x8a\xac %\n<s>\n"),
                   .test_target = plain("test.de", "die Katze\nder Hund\nein Hund\n"),
                   .vocabulary_file = model,
                   .source_length = 30,
                   .input = {60}};
    const auto sets = load(w);
    BOOST_REQUIRE(sets.ok());
    BOOST_REQUIRE(!sets->notes.empty());
    BOOST_TEST(sets->notes.back() ==
               "data.translation.test_source: " + w.test_source +
                   ": 2 of 3 source sentences have characters that the vocabulary has not, the "
                   "first \"\xe7\x8a\xac\"; the model reads an unknown token in their place");
    const auto vocabulary = subwords::load(model);
    BOOST_TEST((vocabulary->unknown("<s>") == std::vector<std::string>{"<", ">"}));
}

BOOST_AUTO_TEST_CASE(sentences_of_which_no_vocabulary_is_made_are_counted) {
    const std::string longest(4192, 'a');
    const wanted w{.train_source = plain("long.en", english + longest + "\n" + longest + "a\n"),
                   .train_target = plain("long.de", german + "ein Hund\neine Katze\n"),
                   .vocabulary_file = model};
    const auto sets = load(w);
    BOOST_REQUIRE_MESSAGE(sets.ok(), (sets.ok() ? "" : sets.failure().message()));
    BOOST_TEST((!sets->notes.empty() &&
                sets->notes[0] == "data.translation.vocabulary: it is made without 1 of 12 "
                                  "sentences, which are longer than 4192 bytes; is one on each "
                                  "line?"));
}

BOOST_AUTO_TEST_CASE(text_that_cannot_be_used_is_refused_with_its_key_and_the_line) {
    const auto three = plain("three.de", "eins\nzwei\ndrei\n");
    BOOST_TEST(
        refusal_of(load({.train_source = en, .train_target = three, .vocabulary_file = model})) ==
        "data.translation.train_target: " + three + ": line 3: the file ends after 3 lines, but " +
            en + " has 4; every line is the translation of the other file's");
    const auto no_tab = plain("no.tsv", "a\tb\nno tab here\n");
    BOOST_TEST(refusal_of(load({.train_source = en,
                                .train_target = de,
                                .test_source = no_tab,
                                .vocabulary_file = model}))
                   .find("data.translation.test_source: " + no_tab +
                         ": line 2: no tab between two sentences; ") == 0u);
    const auto none = plain("none.tsv", "\n\n");
    BOOST_TEST(
        refusal_of(load({.train_source = none, .vocabulary_file = model})) ==
        "data.translation.train_source: " + none +
            ": line 2: no line has a sentence and its translation; give some that have both");
    BOOST_TEST(
        refusal_of(
            load({.train_source = en, .train_target = "/nonexistent/x", .vocabulary_file = model}),
            errc::io) == "data.translation.train_target: /nonexistent/x: no such file");
}

BOOST_AUTO_TEST_CASE(vocabularies_and_lengths_that_cannot_be_are_refused) {
    const wanted good{.train_source = en, .train_target = de, .vocabulary_file = model};
    wanted w = good;
    w.vocabulary = 16;
    BOOST_TEST(refusal_of(load(w)) ==
               "data.translation.vocabulary: no vocabulary of 16 tokens can be made of this text; "
               "give at least 21");
    w.vocabulary = 20;
    BOOST_TEST(!load(w).ok());
    BOOST_TEST(!std::filesystem::exists(model));
    w.vocabulary = 21;
    w.vocabulary_file = (folder() / "least.model").string();
    BOOST_TEST(load(w).ok());
    w = good;
    w.train_source = w.train_target = plain("long", std::string(5000, 'a') + "\n");
    BOOST_TEST(refusal_of(load(w)) ==
               "data.translation.vocabulary: no vocabulary of 60 tokens can be made of this text; "
               "give more tokens, or text with lines of at most 4192 bytes");
    w = good;
    w.source_length = 20;
    BOOST_TEST(
        refusal_of(load(w)).find(
            "data.translation.source_length: leaves nothing for the target of a sample of [20]") ==
        0u);
    w = good;
    w.vocabulary_file = plain("damaged.model", "no model");
    BOOST_TEST(refusal_of(load(w)).find("data.translation.vocabulary_file: " + w.vocabulary_file +
                                        ": byte 0: no SentencePiece model") == 0u);
    w.vocabulary_file = "/proc/nowhere/x.model";
    BOOST_TEST(
        refusal_of(load(w), errc::usage)
            .find("data.translation.vocabulary_file: /proc/nowhere/x.model: cannot be written") ==
        0u);
    BOOST_REQUIRE(load(good).ok());
    // A unigram model with a piece that begins with a zero: the library throws.
    const std::string tail{"\x12\x02\x18\x01\x0a\x06\x0a\x02\x00x\x18\x01", 12};
    w = good;
    w.vocabulary_file = plain("thrown.model", read(good.vocabulary_file) + tail);
    BOOST_TEST(refusal_of(load(w)).find(": byte 0: no SentencePiece model (") != std::string::npos);
    w = good;
    w.vocabulary = 30;
    BOOST_TEST(refusal_of(load(w)).find("delete the file to have a smaller vocabulary made") !=
               std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
