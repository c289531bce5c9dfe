// Words of texts, and their forms.
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "actors/data/sparse/text_words.hpp"
#include "actors/data/sparse/word_forms.hpp"

using namespace troupe;

namespace {

using names = std::vector<std::string>;

names words_in(std::string_view text) {
    text_words words{text};
    names all;
    while (const auto word = words.next())
        all.push_back(lower_case_of(*word));
    return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(words_of_texts)

BOOST_AUTO_TEST_CASE(words_are_runs_of_letters_in_lower_case) {
    BOOST_TEST((words_in("Don't stop, x86-Prozessor: 3rd \"Way\"...") ==
                names{"don", "t", "stop", "x", "prozessor", "rd", "way"}));
    BOOST_TEST((words_in("Ärger ÉTÉ Ωmega Ёж Łódź ÿŸ ﬁn") ==
                names{"ärger", "été", "ωmega", "ёж", "łódź", "ÿÿ", "ﬁn"}));
    BOOST_TEST((words_in("ƯỚC mƠ ȘtiinȚa Ɓera Ἀθῆναι Ǆep Ⴀ Ⲁ Ԇ 𐐀") ==
                names{"ước", "mơ", "știința", "ɓera", "ἀθῆναι", "ǆep", "ⴀ", "ⲁ", "ԇ", "𐐨"}));
    BOOST_TEST((words_in("a\u2014b\u00a0c\u00d7d \u0661 \u3002\u65e5\u672c\u3001\u8a9e") ==
                names{"a", "b", "c", "d", "\u65e5\u672c", "\u8a9e"}));
    BOOST_TEST((words_in("кона\u02bc ʻokina") == names{"кона\u02bc", "ʻokina"})); // letters
    BOOST_TEST(words_in("").empty());
    BOOST_TEST(words_in(" 12 -- ").empty());
}

BOOST_AUTO_TEST_CASE(the_same_word_has_one_form_however_it_is_encoded) {
    const std::string acute = "\u0301", soft_hyphen = "\u00ad", byte_order_mark = "\ufeff";
    BOOST_TEST((words_in("e" + acute + "t E" + acute + "T ét") == names{"ét", "ét", "ét"}));
    BOOST_TEST((words_in("J\u030c \u01f0") == names{"\u01f0", "\u01f0"})); // no capital of its own
    BOOST_TEST(
        (words_in("q\u0323\u0307 q\u0307\u0323") == names{"q\u0323\u0307", "q\u0323\u0307"}));
    BOOST_TEST(
        (words_in("inter" + soft_hyphen + "national" + soft_hyphen) == names{"international"}));
    BOOST_TEST(
        (words_in(byte_order_mark + "one t" + byte_order_mark + "wo") == names{"one", "two"}));
    BOOST_TEST((words_in("می\u200cخواهم") == names{"میخواهم"}));
    BOOST_TEST((words_in("a\u200bb") == names{"a", "b"})); // a space, if of no width
    BOOST_TEST((words_in("\u0301a 1\u0301 \u00ad") == names{"a"}));
    BOOST_TEST((words_in("K Ω Å") == names{"k", "ω", "å"})); // Kelvin, Ohm, Ångström
    BOOST_TEST(lower_case_of("a\xff") == "a\xff");
}

BOOST_AUTO_TEST_CASE(a_capital_sigma_is_final_at_the_end_of_a_word) {
    BOOST_TEST((words_in("ΟΔΟΣ ΣΟΦΟΣ οδοσ Σ ΑΣ\u0301 Σ'ΑΓΑΠΩ ΟΔΟΣ\u00ad") ==
                names{"οδος", "σοφος", "οδοσ", "σ", "ας\u0301", "σ", "αγαπω", "οδος"}));
    BOOST_TEST(folded("οδος") == folded("οδοσ"));
}

BOOST_AUTO_TEST_CASE(dots_within_a_word_do_not_cut_it) {
    BOOST_TEST((words_in("COL·LECCIÓ a· ·b a··b 約翰·史密斯 צה״ל ״ל") ==
                names{"col·lecció", "a", "b", "a", "b", "約翰", "史密斯", "צה״ל", "ל"}));
}

BOOST_AUTO_TEST_CASE(capitals_of_turkish_have_their_own_lower_case) {
    BOOST_TEST(lower_case_of("ISPARTA İZMİR I\u0307", casing::turkish) == "ısparta izmir i");
    BOOST_TEST(lower_case_of("ISPARTA İZMİR I\u0307") == "isparta izmir i");
}

BOOST_AUTO_TEST_CASE(marks_are_no_letters_of_a_word) {
    BOOST_TEST((letters_in("x\u0303y") == 2 && letters_in("") == 0 && letters_in("3d") == 2));
}

BOOST_AUTO_TEST_CASE(a_word_is_as_long_as_its_composed_form) {
    const auto times = [](std::size_t count, std::string_view letter) {
        std::string all;
        while (count-- > 0)
            all += letter;
        return all;
    };
    const auto is_word = [](const std::string& text) {
        text_words words{text};
        const bool is_there = words.next().has_value();
        BOOST_TEST(words.too_long() == (is_there ? 0u : 1u));
        return is_there;
    };
    for (const char* letter : {"\u00e9", "e\u0301", "\u00e9\u00ad", "e\u0301\u00ad"}) {
        BOOST_TEST(is_word(times(word_characters_max, letter)), letter);
        BOOST_TEST(!is_word(times(word_characters_max + 1, letter)), letter);
    }
    const char* const qa = "\u0958"; // composed, it is two characters
    BOOST_TEST(is_word(times(word_characters_max / 2, qa)));
    BOOST_TEST(!is_word(times(word_characters_max / 2 + 1, qa)));
}

BOOST_AUTO_TEST_SUITE_END()
