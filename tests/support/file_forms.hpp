// The contract of readers: of each form of a file that people have, what is in it is read exactly, or a sentence says what
// was not, and what to do. Each reader has a table of such forms; there is no third outcome.
#pragma once

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <charconv>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/data_files.hpp"

namespace troupe::test {

struct file_form {
    std::string name;
    std::string bytes;
    std::string read;           // what is read of it, as text; empty: it is refused
    std::string refused = {};   // words of the sentence that it is refused with
    std::string noted = {};     // words of the note that it is read with; empty: there is none
    std::string noted_too = {}; // of a second note
};

struct reading {
    std::string read;
    std::string refused;
    std::vector<std::string> notes = {};
};

template <class T>
reading refusal(const result<T>& failed) {
    return {{}, failed.failure().message()};
}

using form_reader = std::function<reading(const std::string& path)>;

// A number with as few digits as tell it from others.
template <class Number>
std::string shown(Number number) {
    char text[40];
    return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

// "1 2 3"
template <class Numbers>
std::string shown_all(const Numbers& numbers) {
    std::string all;
    for (const auto& number : numbers)
        all += (all.empty() ? "" : " ") + shown(number);
    return all;
}

inline void check_form(const file_form& form, const std::string& path, const form_reader& read) {
    BOOST_TEST_CONTEXT(form.name) {
        const reading found = read(path);
        BOOST_TEST(found.read == form.read, found.read << " " << found.refused);
        if (form.read.empty()) {
            BOOST_TEST(!form.refused.empty(), "a form is read or refused");
            BOOST_TEST(found.refused.find(form.refused) != std::string::npos, found.refused);
            BOOST_TEST(found.refused.find(path.substr(path.rfind('/') + 1)) != std::string::npos,
                       found.refused);
            BOOST_TEST(found.refused.find('\n') == std::string::npos);
        }
        std::vector<std::string> expected;
        for (const std::string* words : {&form.noted, &form.noted_too})
            if (!words->empty())
                expected.push_back(*words);
        for (std::size_t i = 0; i < std::max(expected.size(), found.notes.size()); ++i)
            if (i >= found.notes.size())
                BOOST_TEST(false, "a note is missing: " << expected[i]);
            else
                BOOST_TEST(
                    (i < expected.size() && found.notes[i].find(expected[i]) != std::string::npos),
                    found.notes[i]);
    }
}

// The table of a format; the manual names it so (tools/manual/data-files.md).
struct table_of {
    std::string format;
    std::vector<file_form> forms;

    void check(const form_reader& read, const std::string& file_name = "file") const {
        const data_files files;
        for (const file_form& form : forms)
            check_form(form, files.plain(file_name, form.bytes), read);
    }
};

} // namespace troupe::test
