// Words of texts and their forms, for unicode_words.py to compare with Unicode's data: for every line, a text in hexadecimal
// digits of its UTF-8, one line of JSON. With the argument "turkish" letters have Turkish cases.
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "actors/data/sparse/text_words.hpp"
#include "actors/data/sparse/word_forms.hpp"

using namespace troupe;

namespace {

std::string bytes_of(const std::string& hexadecimal) {
    std::string text;
    for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2)
        text += static_cast<char>(std::stoi(hexadecimal.substr(i, 2), nullptr, 16));
    return text;
}

} // namespace

int main(int count, char** arguments) {
    const bool is_turkish = count > 1 && arguments[1] == std::string{"turkish"};
    for (std::string line; std::getline(std::cin, line);) {
        const std::string text = bytes_of(line);
        nlohmann::json found = nlohmann::json::array();
        text_words words{text};
        while (const auto word = words.next())
            found.push_back({word->data() - text.data(), word->size()});
        const std::string lowered =
            lower_case_of(text, is_turkish ? casing::turkish : casing::common);
        const nlohmann::json all{{"words", found}, {"lower", lowered}, {"folded", folded(lowered)}};
        std::cout << all.dump() << '\n';
    }
    return 0;
}
