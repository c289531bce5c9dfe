#include "actors/runtime/fact_board.hpp"

#include <algorithm>

namespace troupe {

namespace {

constexpr std::string_view cut_mark = "...";

// The longest beginning of at most so many bytes that ends with a whole character of UTF-8.
std::string_view beginning(std::string_view text, std::size_t bytes_max) {
    if (text.size() <= bytes_max)
        return text;
    while (bytes_max > 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xc0u) == 0x80u)
        --bytes_max;
    return text.substr(0, bytes_max);
}

} // namespace

void fact_board::keep(const told& news) {
    const std::string_view name = beginning(news.name, name_bytes_max);
    auto found = std::ranges::find(facts_, name, &fact::name);
    if (found == facts_.end()) {
        if (facts_.size() == facts_max)
            return;
        found = facts_.insert(facts_.end(), fact{std::string{name}, {}});
    }
    if (news.text.size() <= text_bytes_max) {
        found->text.assign(news.text);
        return;
    }
    found->text.assign(beginning(news.text, text_bytes_max - cut_mark.size()));
    found->text += cut_mark;
}

void fact_board::set(std::initializer_list<told> facts) {
    const std::lock_guard guard{lock_};
    for (const told& news : facts)
        keep(news);
}

std::vector<fact_board::fact> fact_board::facts() const {
    const std::lock_guard guard{lock_};
    return facts_;
}

} // namespace troupe
