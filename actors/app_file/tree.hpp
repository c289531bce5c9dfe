// YAML as a tree whose every value knows where it was written. Internal to the app file loader.
//
// A tree cannot be larger than its text: anchors, aliases and tags are refused, depth is bounded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/error.hpp"

namespace troupe::app_file {

// The place where a value was written: in the file, or in one of the --set arguments.
struct place {
    int setting = -1; // index of the --set argument; -1 is the file
    int line = 0;     // of the file, from 1; 0 is the file as a whole
    int column = 0;
    int file = 0; // index into sources::files
};

// The names of places in messages.
struct sources {
    std::vector<std::string> files; // the app file, its base, the base's base, ...
    std::vector<std::string> setting_keys;
    std::string home; // the folder that "~" stands for in file names, or empty

    std::string name(const place& where) const; // "app.yaml:3:26" or "--set train.batch"
    error fail(const place& where, std::string_view path, std::string_view sentence) const;
    error fail_repeated(const place& where, std::string_view path, const place& first) const;
};

struct entry;

struct node {
    enum class kind { null, scalar, list, map };

    kind what = kind::null;
    place where;
    bool quoted = false; // of a scalar: written in quotes, so that it is text and nothing else
    std::string text;    // of a scalar
    std::vector<node> items;
    std::vector<entry> entries; // in the order of the file; a key may occur twice
    // The word of which --set has made this map, if it has: it names the union's member as long as no key does.
    std::string word;
};

struct entry {
    std::string key;
    place where;
    node value;
};

// Reads one YAML document; an empty one is a null node. `start` names the source and is otherwise unused.
result<node> parse_tree(std::string_view text, const place& start, const sources& names);

// Applies "KEY=VALUE" arguments to the tree, in order. Maps on the way are made when missing; VALUE null removes KEY.
// Appends the keys to names.setting_keys, so that the places of the new values have names.
result<void> apply_settings(node& root, const std::vector<std::string>& settings, sources& names);

// Whether a terminal shows this text as it is.
bool is_one_line(std::string_view text);
// A text from outside for a message: printable and shortened.
std::string printable(std::string_view text);
std::string in_quotes(std::string_view text); // the same in double quotes
// A description of a value for messages: `the text "x"`, "a list".
std::string describe(const node& value);

} // namespace troupe::app_file
