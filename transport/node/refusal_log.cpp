#include "transport/node/refusal_log.hpp"

#include <algorithm>

namespace troupe {

namespace {

std::string connections(std::uint64_t count) {
    return std::to_string(count) + " more connection" + (count == 1 ? "" : "s");
}

std::string were_refused(std::uint64_t count) {
    return std::string{count == 1 ? " was" : " were"} + " refused in the last minute";
}

} // namespace

std::optional<std::string> refusal_log::refused(const std::string& host, const std::string& who,
                                                const std::string& why, time_point now) {
    const origin from{host, why};
    if (const auto known = told_.find(from); known != told_.end()) {
        ++known->second.more;
        return std::nullopt;
    }
    // A stranger may choose the reason by what it says.
    const auto of_host =
        std::ranges::count(told_, host, [](const auto& entry) { return entry.first.first; });
    if (told_.size() < told_max && of_host < reasons_max) {
        told_[from] = {now + interval};
        return (who.empty() ? "a connection from " : "who calls itself " + who + " at ") + host +
               " is refused: " + why;
    }
    if (!others_)
        others_ = count{now + interval};
    ++others_->more;
    last_other_ = from;
    return std::nullopt;
}

std::vector<std::string> refusal_log::due(time_point now) {
    std::vector<std::string> sentences;
    std::erase_if(told_, [&](const auto& entry) {
        const auto& [from, its] = entry;
        if (its.until > now)
            return false;
        if (its.more > 0)
            sentences.push_back(connections(its.more) + " from " + from.first +
                                were_refused(its.more) + ": " + from.second);
        return true;
    });
    if (others_ && others_->until <= now) {
        sentences.push_back(connections(others_->more) + " from others" +
                            were_refused(others_->more) + ", the last from " + last_other_.first +
                            ": " + last_other_.second);
        others_.reset();
    }
    return sentences;
}

std::optional<time_point> refusal_log::next_due() const {
    std::optional<time_point> next;
    const auto add = [&](const count& its) {
        next = std::min(next.value_or(its.until), its.until);
    };
    for (const auto& [from, its] : told_)
        add(its);
    if (others_)
        add(*others_);
    return next;
}

} // namespace troupe
