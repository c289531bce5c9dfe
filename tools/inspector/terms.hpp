// The words after the view on the command line, which are search terms. Pure.
//
// Errors: errc::usage with a sentence that says what is wrong and how it is written.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schemas/base/error.hpp"
#include "tools/inspector/events.hpp"

namespace troupe::inspector {

// KEY=VALUE words of a tail; all must hold.
struct tail_terms {
    std::string type;               // empty: any
    std::string actor;              // name or number of the receiver; empty: any
    std::string node;               // name of the receiver's node; empty: any
    std::string from;               // name, number or NODE/NAME of the sender; empty: any
    std::uint64_t minibatch = none; // none: any
    std::uint64_t run = 0;          // 0: any
    std::vector<std::pair<std::string, std::string>>
        fields;                         // path in the body, value as it is printed
    std::vector<actor_address> senders; // the actors that `from` names on the current nodes
};

result<tail_terms> parse_tail_terms(std::span<const std::string> words);

// The actors that go by this name, number or NODE/NAME.
std::vector<actor_address> actors_named(const std::string& said, const all_names& names);

// The thing that is followed: a minibatch of a training run, or a piece of work of a run of any kind of job.
struct follow_terms {
    bool is_minibatch = true;
    std::optional<std::uint64_t> number; // none: the next one
    std::uint64_t run = 0;               // 0: of any
};

// Parses "minibatch=42", "phase=42" or "work=42", with or without "run=5c6879d3"; "next" stands for no number.
result<follow_terms> parse_follow_terms(std::span<const std::string> words);

// Parses nothing or "run=5c6879d3" of a view that lists what runs have. Returns 0 for every run.
result<std::uint64_t> parse_run_terms(std::string_view view, std::span<const std::string> words);

void write_filter(proto::Filter::Builder to, const tail_terms& terms);

} // namespace troupe::inspector
