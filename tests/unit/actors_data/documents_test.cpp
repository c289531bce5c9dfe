// Documents as counts of words.
#include "tests/support/data_files.hpp"

#include <filesystem>

#include "actors/data/sparse/documents.hpp"
#include "actors/data/sparse/text_words.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using names = std::vector<std::string>;

class document_files : public data_files {
  public:
    documents read(const document_settings& settings) const {
        auto all = read_documents(settings);
        BOOST_REQUIRE_MESSAGE(all.ok(), (all.ok() ? "" : all.failure().message()));
        check(*all);
        return std::move(*all);
    }
    // What is said of it, without the folder.
    std::string refused(const document_settings& settings, errc code = errc::data) const {
        std::string said = refusal_of(read_documents(settings), code);
        const std::string shown = folder().string() + "/";
        for (std::size_t at = 0; (at = said.find(shown)) != std::string::npos;)
            said.erase(at, shown.size());
        return said;
    }

    document_settings counts(const std::string& text) const {
        return {.format = document_format::counts, .source = {plain("a", text), ""}};
    }
    document_settings counts(const std::string& text, const std::string& vocabulary) const {
        document_settings settings = counts(text);
        settings.vocabulary = {plain("v", vocabulary), "vocabulary"};
        return settings;
    }
    document_settings lines(const std::string& text) const {
        return {.format = document_format::lines, .source = {plain("a", text), ""}};
    }
    document_settings dictionary(const std::string& texts, const std::string& index) const {
        plain("d.index", index);
        return {.format = document_format::dictionary, .source = {plain("d.dict", texts), ""}};
    }

  private:
    static void check(const documents& all) {
        BOOST_TEST(all.counts.indices.size() == all.counts.values.size());
        double tokens = 0;
        for (const float count : all.counts.values)
            tokens += count;
        BOOST_TEST(tokens == static_cast<double>(all.tokens));
        BOOST_TEST(all.row_names().size() == all.counts.rows());
    }
};

// "word word*3" for each document, in the order of columns.
names shown(const documents& all) {
    names rows;
    for (std::size_t r = 0; r < all.counts.rows(); ++r) {
        std::string& row = rows.emplace_back();
        for (auto i = static_cast<std::size_t>(all.counts.starts[r]);
             i < static_cast<std::size_t>(all.counts.starts[r + 1]); ++i) {
            const auto count = static_cast<int>(all.counts.values[i]);
            row += (row.empty() ? "" : " ") +
                   all.words[static_cast<std::size_t>(all.counts.indices[i])] +
                   (count == 1 ? "" : "*" + std::to_string(count));
        }
    }
    return rows;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(documents_of_words, document_files)

BOOST_AUTO_TEST_CASE(stems_of_turkish_have_its_lower_case) {
    document_settings settings = lines("KIZ kız IŞIK ışık İL il\n");
    settings.words.stems = "turkish";
    settings.words.stop_words = {plain("stop", "IŞIK\n"), "stop_words_file"};
    BOOST_TEST((shown(read(settings)) == names{"il*2 kız*2"}));
}

BOOST_AUTO_TEST_CASE(spellings_of_a_word_count_as_one_and_most_of_them_name_it) {
    const documents all = read(lines("STRASSE straße οδοσ Straße\nΟΔΟΣ οδος STRASSE STRASSE\n"));
    BOOST_TEST((all.words == names{"strasse", "οδος"}));
    BOOST_TEST((shown(all) == names{"strasse*3 οδος", "strasse*2 οδος*2"}));
    BOOST_TEST((read(lines("STRASSE straße Straße\n")).words == names{"straße"}));
    BOOST_TEST((read(lines("straße strasse\n")).words == names{"strasse"})); // the first in order
    document_settings settings = lines("Straße STRASSE ﬁn weg\n");
    settings.words.stop_words = {plain("stop", "strasse fin\n"), "stop_words_file"};
    BOOST_TEST((read(settings).words == names{"weg"}));
}

BOOST_AUTO_TEST_CASE(marks_are_no_letters_of_a_length) {
    document_settings settings = lines("ab की क m\u0303 मा\n");
    settings.words.length_min = 2;
    BOOST_TEST((read(settings).words == names{"ab"}));
}

BOOST_AUTO_TEST_CASE(runs_that_are_too_long_are_no_words) {
    const auto letters = [](std::size_t count) {
        std::string all;
        while (count-- > 0)
            all += "\u0e02"; // of Thai
        return all;
    };
    const std::string longest = letters(word_characters_max),
                      longer = letters(word_characters_max + 1);
    const std::string text = "a " + longest + " " + longer + " b " + longer;
    const documents all = read(lines(text + "\n" + longer + "\n"));
    BOOST_TEST((all.words == names{"a", "b", longest}));
    BOOST_TEST((all.words_too_long == 3 && all.left_out == 1));
    const std::string sentence =
        "1 run of more than 250 characters without a blank is no word, and is "
        "left out; put blanks between words";
    BOOST_TEST(why_too_long(1) == sentence);
    BOOST_TEST(refused(lines(longer)).ends_with("; " + sentence));
    BOOST_TEST(read(lines("a\n")).words_too_long == 0u);
}

BOOST_AUTO_TEST_CASE(lines_are_documents_with_words_in_alphabetical_order) {
    const documents all = read(lines("To be, or not to be\n\n  12\nNOT now\n"));
    BOOST_TEST((all.words == names{"be", "not", "now", "or", "to"}));
    BOOST_TEST((shown(all) == names{"be*2 not or to*2", "not now"}));
    BOOST_TEST((all.row_names() == names{"1", "4"}));
    BOOST_TEST((all.tokens == 8 && all.left_out == 2));
    document_settings packed = lines("");
    packed.source.path = gzip("a.gz", "one two\n");
    BOOST_TEST((shown(read(packed)) == names{"one two"}));
}

BOOST_AUTO_TEST_CASE(stop_words_and_short_words_are_left_out) {
    document_settings settings = lines("The cat is on a mat\nit isn't\nMAT of Ärzte\n");
    settings.words.has_english_stop_words = true;
    BOOST_TEST((shown(read(settings)) == names{"cat mat", "mat ärzte"}));
    settings.words.length_min = 4;
    BOOST_TEST((shown(read(settings)) == names{"ärzte"}));
    settings.words.has_english_stop_words = false;
    settings.words.length_min = 3;
    settings.words.stop_words = {plain("stop", "Cat\n\nisn't ÄRZTE\n"), "stop_words_file"};
    BOOST_TEST((shown(read(settings)) == names{"mat the", "mat"}));
    settings.words.stop_words.path = plain("stop", "\xff\n");
    BOOST_TEST(refused(settings) ==
               "stop_words_file: stop: line 1: the byte 0xff is not UTF-8; convert the text, as by "
               "iconv -f latin1 -t utf-8");
}

BOOST_AUTO_TEST_CASE(forms_of_a_word_count_as_their_stem) {
    document_settings settings = lines("connected connections connect\nConnecting cats\n");
    settings.words.stems = "english";
    BOOST_TEST((shown(read(settings)) == names{"connect*3", "cat connect"}));
    settings.words.stems = "klingon";
    BOOST_TEST(refused(settings, errc::usage) ==
               "the stems of klingon are not in the installed libstemmer; choose none, or install "
               "a newer one");
}

BOOST_AUTO_TEST_CASE(bounds_leave_out_rare_and_common_words_and_documents_without_others) {
    document_settings settings = lines("a b c c c\na b d\na e\na\n");
    settings.bounds.documents_min = 2;
    BOOST_TEST((shown(read(settings)) == names{"a b", "a b", "a", "a"}));
    settings.bounds.documents_max_share = 0.5;
    const documents all = read(settings);
    BOOST_TEST((shown(all) == names{"b", "b"}));
    BOOST_TEST((all.row_names() == names{"1", "2"}));
    BOOST_TEST(all.left_out == 2u);
    settings.bounds = {.words_max = 2};
    BOOST_TEST((read(settings).words == names{"a", "c"}));
    settings.bounds = {.words_max = 4}; // of d and e, which are there once, the first
    BOOST_TEST((read(settings).words == names{"a", "b", "c", "d"}));
}

BOOST_AUTO_TEST_CASE(an_empty_vocabulary_is_refused) {
    document_settings settings = lines("a b\nc\n");
    settings.bounds.documents_min = 2;
    BOOST_TEST(refused(settings) ==
               "a: the vocabulary is empty: none of 3 words in 2 documents is kept; lower "
               "documents_min");
    settings.bounds.documents_max_share = 0.1;
    BOOST_TEST(refused(settings).ends_with("; lower documents_min, or raise documents_max_share"));
    BOOST_TEST(refused(lines("12\n")) ==
               "a: the vocabulary is empty: 1 documents have no words that are kept; give others, "
               "or leave out stop_words and length_min");
    BOOST_TEST(refused(lines("")).starts_with("a: the vocabulary is empty: 0 documents"));
    BOOST_TEST(refused(counts("0\n")).starts_with("a: the vocabulary is empty: 1 documents"));
}

BOOST_AUTO_TEST_CASE(texts_that_are_not_utf8_are_refused_with_their_line) {
    BOOST_TEST(refused(lines("one\ncaf\xe9\n")) ==
               "a: line 2: the byte 0xe9 is not UTF-8; convert the text, as by iconv -f latin1 -t "
               "utf-8");
    BOOST_TEST(refused(lines("\xc0\x80")).starts_with("a: line 1: the byte 0xc0"));
    BOOST_TEST(refused(lines("ab\xed\xa0\x80")).starts_with("a: line 1: the byte 0xed"));
    BOOST_TEST(refused(dictionary(std::string("a\0b", 3), "cat\tA\tD\n"))
                   .starts_with("d.index: line 1: the text of \"cat\": a NUL byte, "));
    document_settings missing = lines("");
    missing.source = {folder() / "none", "lines"};
    BOOST_TEST(refused(missing, errc::io) == "lines: none: no such file");
}

BOOST_AUTO_TEST_CASE(counts_of_lda_c_keep_the_order_of_their_words) {
    const documents all = read(counts("2 10:1 2:3\n0\n\n1 2:1\n"));
    BOOST_TEST((all.words == names{"2", "10"}));
    BOOST_TEST((shown(all) == names{"2*3 10", "2"}));
    BOOST_TEST((all.row_names() == names{"1", "3"}));
    BOOST_TEST(all.left_out == 1u);
    const documents named = read(counts("2 0:1 2:3\n1 2:1\n", "zebra\nhorse\nape\n"));
    BOOST_TEST((shown(named) == names{"zebra ape*3", "ape"}));
    document_settings shorter = counts("3 0:1 1:2 2:3\n", "The\nhorse\nape\n");
    shorter.words.has_english_stop_words = true;
    shorter.words.length_min = 4;
    BOOST_TEST((shown(read(shorter)) == names{"horse*2"}));
}

BOOST_AUTO_TEST_CASE(wrong_lines_of_lda_c_are_refused) {
    BOOST_TEST(refused(counts("1 0:1\nx 0:1\n")) ==
               "a: line 2: \"x\" is no number of words; a line is N WORD:COUNT ..., as LDA-C reads "
               "it, or the file begins with the numbers of documents, words and entries, as those "
               "of UCI");
    BOOST_TEST(refused(counts("1 0\n")) ==
               "a: line 1: \"0\" is no WORD:COUNT; separate them by a colon, and pairs by blanks");
    BOOST_TEST(refused(counts("2 0:1\n")) ==
               "a: line 1: 1 word, but the line begins with 2; correct it");
    BOOST_TEST(refused(counts("2 5:1 5:2\n")) ==
               "a: line 1: the word 5 twice in a document; leave one of them out");
    for (const char* count : {"0", "-1", "1.5", "16777217", "99999999999999999999", ""})
        BOOST_TEST(refused(counts(std::string{"1 0:"} + count + "\n")) ==
                   std::string{"a: line 1: the count \""} + count +
                       "\"; counts are whole numbers from 1 to 16777216");
    for (const char* word : {"-1", "134217728", "x", ""})
        BOOST_TEST(refused(counts(std::string{"1 "} + word + ":1\n")) ==
                   std::string{"a: line 1: the word \""} + word +
                       "\"; words are numbers from 0 to 134217727");
    BOOST_TEST(refused(counts("1 3:1\n", "a\nb\nc\n")) ==
               "a: line 1: the word \"3\"; words are numbers from 0 to 2");
    BOOST_TEST(refused(counts("")) == "a: line 1: the file is empty");
}

BOOST_AUTO_TEST_CASE(wrong_vocabularies_are_refused) {
    BOOST_TEST(
        refused(counts("1 0:1\n", "a\n\nb\n")) ==
        "vocabulary: v: line 2: the word \"\"; a vocabulary has a word of 1 to 2000 bytes in "
        "UTF-8 in each line");
    BOOST_TEST(refused(counts("1 0:1\n", "a\x01\n"))
                   .starts_with("vocabulary: v: line 1: the word \"a\\x01\""));
    BOOST_TEST(refused(counts("1 0:1\n", "")) ==
               "vocabulary: v: line 1: no words; give one in each line");
    BOOST_TEST(refused(counts("1 0:1\n", "a\nb\na \n")) ==
               "vocabulary: v: line 3: the word \"a\" as in line 1; give each word once");
}

BOOST_AUTO_TEST_CASE(counts_of_uci_are_told_by_three_numbers) {
    const documents all = read(counts("4\n3\n3\n1 3 2\n1 1 1\n3 3 4\n"));
    BOOST_TEST((all.words == names{"1", "3"}));
    BOOST_TEST((shown(all) == names{"1 3*2", "3*4"}));
    BOOST_TEST((all.row_names() == names{"1", "3"}));
    BOOST_TEST(all.left_out == 2u);
    BOOST_TEST((shown(read(counts("1\n2\n1\n1 2 7\n", "cat\ndog\n"))) == names{"dog*7"}));
}

BOOST_AUTO_TEST_CASE(wrong_files_of_uci_are_refused) {
    BOOST_TEST(refused(counts("1\n1\n1\n1 1 1\n1 1 1\n")) ==
               "a: line 5: more than the 1 entries of the third line; correct it");
    BOOST_TEST(refused(counts("1\n2\n2\n1 1 1\n")) ==
               "a: line 4: the file ends after 1 of 2 entries; fetch it again");
    BOOST_TEST(refused(counts("2\n2\n2\n2 1 1\n1 1 1\n")) ==
               "a: line 5: the document 1 after 2; sort the entries by documents");
    BOOST_TEST(refused(counts("2\n2\n2\n3 1 1\n")) ==
               "a: line 4: the document \"3\"; documents are numbers from 1 to 2");
    BOOST_TEST(refused(counts("2\n2\n2\n1 3 1\n")) ==
               "a: line 4: the word \"3\"; words are numbers from 1 to 2");
    BOOST_TEST(refused(counts("2\n2\n2\n1 1 1\n1 1 2\n")) ==
               "a: line 5: the word 1 twice in a document; leave one of them out");
    BOOST_TEST(refused(counts("2\n2\n2\n1 1\n")) == "a: line 4: an entry is DOCUMENT WORD COUNT");
    BOOST_TEST(refused(counts("2\n2\n2\n1 1 1 1\n")) ==
               "a: line 4: an entry is DOCUMENT WORD COUNT");
    BOOST_TEST(refused(counts("2\n2\n5\n1 1 1\n")) ==
               "a: line 3: the number of entries \"5\"; this file begins with the numbers of "
               "documents, words and entries, here 1 to 4");
    BOOST_TEST(refused(counts("2\n"))
                   .starts_with("a: line 1: the number of words \"\"; this file begins"));
    BOOST_TEST(refused(counts("134217729\n1\n1\n")) ==
               "a: line 1: more than 134217728 documents; leave some out");
    BOOST_TEST(refused(counts("1\n2\n1\n1 2 7\n", "cat\n")) ==
               "a: line 2: 2 words, but the vocabulary has 1; is it another file's?");
}

BOOST_AUTO_TEST_CASE(entries_of_a_dictionary_are_documents_once) {
    // Numbers in digits of 64: B is 1, M is 12.
    const std::string texts = "about it\ncat\n  a petdog\n  a pet";
    const std::string index = "00-database-info\tA\tJ\ncat\tJ\tL\nkitten\tJ\tL\ndog\tU\tL\n";
    const documents all = read(dictionary(texts, index));
    BOOST_TEST((shown(all) == names{"a cat pet", "a dog pet"}));
    BOOST_TEST((all.row_names() == names{"cat", "dog"}));
    document_settings packed = dictionary(texts, index);
    packed.source.path = gzip("d.dict.dz", texts);
    BOOST_TEST((shown(read(packed)) == shown(all)));
}

BOOST_AUTO_TEST_CASE(wrong_dictionaries_are_refused) {
    const std::string no_entry =
        "d.index: line 1: an entry is HEADWORD, OFFSET, LENGTH with tabs between them, numbers of "
        "the digits A-Z a-z 0-9 + /; is this the index of a dictd dictionary?";
    for (const char* line :
         {"cat", "cat\tA", "cat\tA\t", "cat\t\tB", "cat\t-\tB", "cat A B", "cat\tA\tAAAAAAAAAAA"})
        BOOST_TEST(refused(dictionary("cat", line)) == no_entry, line);
    BOOST_TEST(refused(dictionary("cat", "cat\tB\tD\n")) ==
               "d.index: line 1: the entry \"cat\" ends at byte 4 of texts of 3 bytes; fetch both "
               "files again");
    BOOST_TEST(!read_documents(dictionary("cat", "cat\t//////////\t//////////\n")).ok());
    BOOST_TEST(refused(dictionary("caf\xe9", "cafe\tA\tE\n")) ==
               "d.index: line 1: the text of \"cafe\": the byte 0xe9 is not UTF-8; convert the "
               "text, as by iconv -f latin1 -t utf-8");
    std::string overlapping;
    for (const char first : {'A', 'B', 'C'})
        for (const char length : {'X', 'Y', 'Z'})
            overlapping += std::string{"x\t"} + first + "\t" + length + "\n";
    BOOST_TEST(refused(dictionary(std::string(30, 'x'), overlapping)) ==
               "d.index: line 6: the entries are much longer than the texts; is this the index of "
               "another dictionary?");
    document_settings other = dictionary("", "");
    other.source.path = plain("d.txt", "");
    BOOST_TEST(refused(other, errc::usage) ==
               "d.txt: the texts of a dictionary are called NAME.dict.dz or NAME.dict, with "
               "NAME.index beside them");
}

BOOST_AUTO_TEST_CASE(files_of_a_folder_are_documents_in_the_order_of_their_paths) {
    std::filesystem::create_directories(folder() / "t/b");
    std::filesystem::create_directories(folder() / "t/.git");
    plain("t/c.txt", "three\n\nthree");
    plain("t/b/x.txt", "two");
    gzip("t/a.gz", "one");
    plain("t/empty", "");
    plain("t/.hidden", "\xff");
    plain("t/.git/config", "\xff");
    document_settings settings{.format = document_format::text, .source = {folder() / "t", ""}};
    const documents all = read(settings);
    BOOST_TEST((shown(all) == names{"one", "two", "three*2"}));
    BOOST_TEST((all.row_names() == names{"a.gz", "b/x.txt", "c.txt"}));
    BOOST_TEST(all.left_out == 1u);
    plain("t/b/y", "ok\n\xff\n");
    BOOST_TEST(refused(settings).starts_with("t/b/y: line 2: the byte 0xff is not UTF-8"));
    plain("t/b/a\nb", "\xff");
    BOOST_TEST(refused(settings).starts_with("t/b/a\\x0ab: line 1: the byte 0xff is not UTF-8"));
}

BOOST_AUTO_TEST_CASE(folders_without_files_are_refused) {
    std::filesystem::create_directories(folder() / "e");
    document_settings settings{.format = document_format::text, .source = {folder() / "e", "text"}};
    BOOST_TEST(refused(settings) == "text: e: no files in it; name a folder of texts");
    settings.source.path = plain("f", "x");
    BOOST_TEST(refused(settings, errc::io) ==
               "text: f: a file, but text takes a folder, each file of which is a document; name a "
               "file with a document a line by lines");
    settings.source.path = folder() / "none";
    BOOST_TEST(refused(settings, errc::io) ==
               "text: none: no such folder; text takes a folder, each file of which is a document");
    settings = {.format = document_format::lines, .source = {folder() / "e", "lines"}};
    BOOST_TEST(refused(settings, errc::io) ==
               "lines: e: a folder, but lines takes a file, each line of which is a document; name "
               "a folder of texts by text");
}

BOOST_AUTO_TEST_CASE(carriage_returns_alone_end_no_lines) {
    const std::string sentence = "a: line 1: the lines end by carriage returns alone; end them by "
                                 "newlines: tr '\\r' '\\n' < FILE > OTHER";
    BOOST_TEST(refused(lines("a b\rc\r")) == sentence);
    BOOST_TEST(refused(lines("a b\rc")) == sentence);
    BOOST_TEST((read(lines("a b\r")).words == names{"a", "b"}));
    BOOST_TEST((read(lines("a b\rc\nd\n")).words == names{"a", "b", "c", "d"}));
    std::filesystem::create_directories(folder() / "t");
    plain("t/a", "a b\rc\r");
    document_settings settings{.format = document_format::text, .source = {folder() / "t", "text"}};
    BOOST_TEST((read(settings).words == names{"a", "b", "c"}));
}

BOOST_AUTO_TEST_CASE(the_dictionary_of_computing_has_the_entries_and_words_it_should) {
    const std::filesystem::path foldoc = "/usr/share/dictd/foldoc.dict.dz";
    if (!std::filesystem::exists(foldoc)) {
        BOOST_TEST_MESSAGE("skipped: " << foldoc << " is not there");
        return;
    }
    document_settings settings{.format = document_format::dictionary, .source = {foldoc, ""}};
    settings.words.has_english_stop_words = true;
    settings.bounds.documents_min = 5;
    const documents all = read(settings);
    BOOST_TEST_MESSAGE("foldoc: " << all.counts.rows() << " documents, " << all.words.size()
                                  << " words, " << all.tokens << " tokens, " << all.left_out
                                  << " left out");
    BOOST_TEST(all.counts.rows() + all.left_out == 12014u);
    BOOST_TEST(all.words.size() > 8000u);
    BOOST_TEST(all.words.size() < 9000u);
}

BOOST_AUTO_TEST_SUITE_END()
