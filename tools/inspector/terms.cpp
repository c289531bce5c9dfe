#include "tools/inspector/terms.hpp"

#include <charconv>

#include "actors/runtime/actor_names.hpp"
#include "schemas/base/limits.hpp"
#include "tools/inspector/inspect.hpp"

namespace troupe::inspector {

namespace {

constexpr std::size_t term_bytes_max = 1024;
constexpr std::string_view body_prefix =
    "body."; // before a field that is named like another condition

error usage(std::string sentence) {
    return {errc::usage, std::move(sentence)};
}

result<std::pair<std::string, std::string>> split_term(const std::string& word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
        return usage("'" + word + "' is no condition; write FIELD=VALUE, as in type=Activation");
    if (word.size() > term_bytes_max)
        return usage("a condition is longer than " + std::to_string(term_bytes_max) + " bytes");
    return std::pair{word.substr(0, equals), word.substr(equals + 1)};
}

std::optional<std::uint64_t> read_number(const std::string& text) {
    std::uint64_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc{} || end != text.data() + text.size() || number == none)
        return std::nullopt;
    return number;
}

error no_run(const std::string& value) {
    return usage("run=" + value +
                 " is no run; they stand before the names in the view actors, as 5c6879d3");
}

result<void> set_once(std::string& to, const std::string& key, const std::string& value) {
    if (!to.empty())
        return usage(key + "= is given twice; a message has only one");
    if (value.empty())
        return usage(key + "= needs a value");
    to = value;
    return {};
}

result<void> check_view(inspect_options& options, std::span<const std::string> words) {
    switch (options.view) {
    case view_kind::actors:
    case view_kind::staleness:
        if (!words.empty())
            return usage("the view " +
                         std::string{options.view == view_kind::actors ? "actors" : "staleness"} +
                         " takes no further words, not '" + words[0] + "'");
        return {};
    case view_kind::schedule:
    case view_kind::results: {
        const auto run =
            parse_run_terms(options.view == view_kind::results ? "results" : "schedule", words);
        return run ? result<void>{} : run.failure();
    }
    case view_kind::tail: {
        const auto terms = parse_tail_terms(words);
        return terms ? result<void>{} : terms.failure();
    }
    case view_kind::follow: {
        const auto wanted = parse_follow_terms(words);
        return wanted ? result<void>{} : wanted.failure();
    }
    case view_kind::export_trace:
        if (words.size() != 1 || words[0].empty() || words[0].size() > limits::path_bytes_max)
            return usage("export needs the name of one file, as in: export trace.json");
        return {};
    }
    return {};
}

// A switch that the view would not look at is a mistake, not a wish to ignore.
result<void> check_switches(const inspect_options& options) {
    if (options.watch && options.view > view_kind::results)
        return usage("--watch goes with the views actors, staleness, schedule and results only");
    if (options.count != 0 && options.view != view_kind::tail)
        return usage("--count goes with the view tail only");
    if (options.seconds != duration{} && options.view != view_kind::export_trace)
        return usage("--seconds goes with the view export only");
    return {};
}

} // namespace

namespace {

// The conditions that are no fields of a body; null for such a one.
std::string* text_term(tail_terms& terms, const std::string& key) {
    return key == "type"    ? &terms.type
           : key == "actor" ? &terms.actor
           : key == "node"  ? &terms.node
           : key == "from"  ? &terms.from
                            : nullptr;
}

// A phase is a program's piece of work.
bool names_work(const std::string& key) {
    return key == "minibatch" || key == "phase" || key == "work";
}
std::string called(const std::string& key) {
    return key == "work" ? "piece of work" : key;
}

result<void> add_term(tail_terms& terms, const std::string& key, const std::string& value) {
    if (std::string* term = text_term(terms, key))
        return set_once(*term, key, value);
    if (key == "run") {
        const auto run = read_run(value);
        if (!run)
            return no_run(value);
        if (terms.run != 0)
            return usage("run= is given twice; a message has only one");
        terms.run = *run;
        return {};
    }
    if (!names_work(key)) {
        terms.fields.emplace_back(
            key.starts_with(body_prefix) ? key.substr(body_prefix.size()) : key, value);
        return {};
    }
    const auto number = read_number(value);
    if (!number)
        return usage(key + "=" + value + " is no " + called(key) + "; they are numbers from 0");
    if (terms.minibatch != none)
        return usage(key + "= is given twice; a message has only one");
    terms.minibatch = *number;
    return {};
}

// Writes the run before a role as the names have it: people copy "0x5c6879d3" from JSON. Returns the run, if there is one.
std::optional<std::uint64_t> write_run_as_shown(std::string& name) {
    const std::size_t role = name.rfind('/');
    if (role == std::string::npos || role == 0)
        return std::nullopt;
    const std::size_t before = name.rfind('/', role - 1);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    const auto run = read_run(std::string_view{name}.substr(begin, role - begin));
    if (run)
        name.replace(begin, role - begin, run_text(*run));
    return run;
}

// "actor=a/stage-0" is an actor of one node, and so is "actor=a/5c6879d3/stage-0", as actors are printed. Alone before the
// role, what reads as a run is one: a node that is called so is named by node=.
result<void> split_actor(tail_terms& terms) {
    const std::size_t slash = terms.actor.find('/');
    const bool has_run = slash != std::string::npos &&
                         terms.actor.find('/', slash + 1) == std::string::npos &&
                         read_run(terms.actor.substr(0, slash));
    if (slash == std::string::npos || has_run)
        return {};
    const std::string node = terms.actor.substr(0, slash);
    if (!terms.node.empty() && terms.node != node)
        return usage("actor=" + terms.actor + " is not on node " + terms.node);
    if (node.empty() || slash + 1 == terms.actor.size())
        return usage("actor=" + terms.actor + " names no actor; write NODE/NAME or RUN/NAME");
    terms.node = node;
    terms.actor.erase(0, slash + 1);
    return {};
}

} // namespace

result<tail_terms> parse_tail_terms(std::span<const std::string> words) {
    tail_terms terms;
    for (const std::string& word : words) {
        auto term = split_term(word);
        if (!term)
            return term.failure();
        if (auto added = add_term(terms, term->first, term->second); !added)
            return added.failure();
    }
    for (std::string* name : {&terms.actor, &terms.from}) {
        const auto run = write_run_as_shown(*name);
        if (run && terms.run != 0 && *run != terms.run)
            return usage(*name + " is no actor of run " + run_text(terms.run));
    }
    if (auto split = split_actor(terms); !split)
        return split.failure();
    if (terms.fields.size() > limits::filter_fields_max)
        return usage("at most " + std::to_string(limits::filter_fields_max) +
                     " fields can be looked at");
    return terms;
}

std::vector<actor_address> actors_named(const std::string& said, const all_names& names) {
    std::vector<actor_address> found;
    for (const auto& [node, known] : names)
        for (const auto& [number, name] : known.actors)
            if (is_called(name, said) || said == std::to_string(number.value()) ||
                (said.starts_with(known.name + "/") &&
                 is_called(name, said.substr(known.name.size() + 1))))
                found.push_back({node, number});
    return found;
}

result<follow_terms> parse_follow_terms(std::span<const std::string> words) {
    follow_terms terms;
    bool has_work = false;
    for (const std::string& word : words) {
        const auto term = split_term(word);
        if (!term)
            return term.failure();
        const auto& [key, value] = *term;
        if (key == "run" && terms.run == 0) {
            const auto run = read_run(value);
            if (!run)
                return no_run(value);
            terms.run = *run;
        } else if (names_work(key) && !has_work) {
            has_work = true;
            terms.is_minibatch = key == "minibatch";
            terms.number = read_number(value);
            if (!terms.number && value != "next")
                return usage(word + " is no " + called(key) + "; they are numbers from 0, or next");
        } else {
            return usage("follow takes one of minibatch=, phase= and work=, and a run=, not '" +
                         word + "' as well");
        }
    }
    if (!has_work)
        return usage(
            "follow needs a minibatch, as in: follow minibatch=42, or follow "
            "minibatch=next; of a program a phase, as in: follow phase=42; of any kind of job a "
            "piece of work, as in: follow work=42");
    return terms;
}

result<std::uint64_t> parse_run_terms(std::string_view view, std::span<const std::string> words) {
    std::uint64_t shown = 0;
    for (const std::string& word : words) {
        if (!word.starts_with("run=") || shown != 0)
            return usage(std::string{view} + " takes one run=, and nothing else, not '" + word +
                         "'");
        const auto run = read_run(word.substr(4));
        if (!run)
            return no_run(word.substr(4));
        shown = *run;
    }
    return shown;
}

void write_filter(proto::Filter::Builder to, const tail_terms& terms) {
    to.setType(terms.type);
    to.setActor(terms.actor);
    to.setWork(terms.minibatch);
    to.setRun(terms.run);
    auto fields = to.initFields(static_cast<unsigned>(terms.fields.size()));
    for (unsigned i = 0; i < fields.size(); ++i) {
        fields[i].setPath(terms.fields[i].first);
        fields[i].setValue(terms.fields[i].second);
    }
    auto senders = to.initSenders(static_cast<unsigned>(terms.senders.size()));
    for (unsigned i = 0; i < senders.size(); ++i) {
        senders[i].setNode(terms.senders[i].node.value());
        senders[i].setActor(terms.senders[i].actor.value());
    }
}

result<void> parse_view(std::span<const std::string> words, inspect_options& options) {
    const std::string view = words.empty() ? "actors" : words[0];
    if (view == "actors")
        options.view = view_kind::actors;
    else if (view == "staleness")
        options.view = view_kind::staleness;
    else if (view == "schedule")
        options.view = view_kind::schedule;
    else if (view == "results")
        options.view = view_kind::results;
    else if (view == "tail")
        options.view = view_kind::tail;
    else if (view == "follow")
        options.view = view_kind::follow;
    else if (view == "export")
        options.view = view_kind::export_trace;
    else
        return usage(
            "there is no view '" + view +
            "'; the views are actors, staleness, schedule, results, tail, follow and export");
    const auto rest = words.subspan(words.empty() ? 0 : 1);
    if (auto fits = check_view(options, rest); !fits)
        return fits.failure();
    if (auto fits = check_switches(options); !fits)
        return fits.failure();
    if (options.view == view_kind::export_trace)
        options.file = rest[0];
    else
        options.terms.assign(rest.begin(), rest.end());
    return {};
}

} // namespace troupe::inspector
