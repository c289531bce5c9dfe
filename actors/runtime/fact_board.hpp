// Named facts about an actor as inspectors see them: how far it is, what it does at present, what it waits for. The actor
// gives the board to the runtime when it is made (actor::show_facts) and keeps it up to date.
//
//     facts_->set({{"phase", std::to_string(number)}, {"waits", ""}});
//
// Threads: any. A change takes a lock for some tens of nanoseconds, and no memory where a text is no longer than those
// before it; nobody reads but inspectors. Text is for people: what programs must know is sent in messages.
#pragma once

#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class fact_board {
  public:
    static constexpr std::size_t facts_max = 16; // further names are left out
    static constexpr std::size_t name_bytes_max = 32;
    static constexpr std::size_t text_bytes_max = 120; // longer text ends in "..."

    struct fact {
        std::string name;
        std::string text; // may be empty
    };
    struct told {
        std::string_view name;
        std::string_view text;
    };

    void set(std::string_view name, std::string_view text) { set({{name, text}}); }
    // Several at once: an inspector sees all of them or none.
    void set(std::initializer_list<told> facts);

    std::vector<fact> facts() const; // in the order in which their names were first set

  private:
    void keep(const told& news);

    mutable std::mutex lock_;
    std::vector<fact> facts_;
};

} // namespace troupe
