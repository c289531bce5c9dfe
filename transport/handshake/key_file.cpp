#include "transport/handshake/key_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "schemas/base/file_descriptor.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

constexpr std::size_t file_bytes_max = cluster_keys::number_max * (limits::key_bytes_max + 64);

result<std::string> read_text(int file, const std::string& path) {
    struct stat status {};
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
        return error{errc::usage, "key file " + path + " is not a regular file"};
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return error{errc::usage,
                     "key file " + path + " can be read by others; run: chmod 600 " + path};
    std::string text(file_bytes_max + 1, '\0');
    std::size_t size = 0;
    for (ssize_t got = 1; got != 0 && size < text.size(); size += static_cast<std::size_t>(got)) {
        got = ::read(file, text.data() + size, text.size() - size);
        if (got < 0)
            return error{errc::io, "cannot read key file " + path + ": " + std::strerror(errno)};
    }
    text.resize(size);
    return text;
}

bool is_long_enough(std::string_view key) {
    return key.size() >= limits::key_bytes_min && key.size() <= limits::key_bytes_max;
}

const std::string key_sizes = std::to_string(limits::key_bytes_min) + " to " +
                              std::to_string(limits::key_bytes_max) + " bytes";

std::vector<std::string_view> words_of(std::string_view line) {
    constexpr std::string_view blanks = " \t\r";
    std::vector<std::string_view> words;
    for (auto at = line.find_first_not_of(blanks); at != line.npos;
         at = line.find_first_not_of(blanks)) {
        line.remove_prefix(at);
        words.push_back(line.substr(0, line.find_first_of(blanks)));
        line.remove_prefix(words.back().size());
    }
    return words;
}

std::optional<peer_role> role_named(std::string_view word) {
    for (const peer_role role : {peer_role::member, peer_role::client, peer_role::observer})
        if (word == word_of(role))
            return role;
    return std::nullopt;
}

bool is_plain_word(std::string_view word) {
    return std::ranges::all_of(
        word, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

using line_words = std::vector<std::vector<std::string_view>>; // of each line

// Whether the file has keys for roles, or one key that may have spaces and line ends in it. One that looks like lines for
// roles with names that are misspelt must not become a key for everybody.
bool has_roles(const line_words& lines) {
    const auto names_a_role = [](const auto& words) {
        return words.size() > 1 && role_named(words[0]);
    };
    const auto is_like_it = [](const auto& words) {
        return words.empty() ||
               (words.size() == 2 && is_plain_word(words[0]) && is_long_enough(words[1]));
    };
    return std::ranges::any_of(lines, names_a_role) || std::ranges::all_of(lines, is_like_it);
}

result<cluster_keys> keys_of_roles(const line_words& lines, const std::string& path) {
    std::vector<cluster_key> keys;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const auto& words = lines[i];
        if (words.empty())
            continue;
        const auto refused = [&](const std::string& why) {
            return error{errc::usage,
                         "key file " + path + ", line " + std::to_string(i + 1) + ": " + why};
        };
        const auto role = role_named(words[0]);
        if (!role) // not quoted: it may be part of a key
            return refused("begins with none of the roles member, run and observe");
        if (words.size() != 2 || !is_long_enough(words[1]))
            return refused("after the role comes a key of " + key_sizes +
                           " without spaces; make one with: openssl rand -hex 32");
        if (std::ranges::find(keys, words[1], &cluster_key::secret) != keys.end())
            return refused("holds a key that is in the file before; give each line its own");
        if (keys.size() == cluster_keys::number_max)
            return refused("is one too many; a file has " +
                           std::to_string(cluster_keys::number_max) + " keys at most");
        keys.push_back({std::string{words[1]}, role});
    }
    return cluster_keys{std::move(keys)};
}

result<cluster_keys> parse_keys(std::string_view text, const std::string& path) {
    line_words lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(words_of(text.substr(at, end - at)));
        at = end + 1;
    }
    const bool is_empty =
        std::ranges::all_of(lines, [](const auto& words) { return words.empty(); });
    if (!is_empty && has_roles(lines))
        return keys_of_roles(lines, path);
    if (text.ends_with('\n'))
        text.remove_suffix(1);
    if (text.ends_with('\r'))
        text.remove_suffix(1);
    if (is_empty || !is_long_enough(text))
        return error{errc::usage, "key file " + path + " must hold a key of " + key_sizes +
                                      "; make one with: openssl rand -hex 32 > " + path};
    return cluster_keys{std::string{text}};
}

} // namespace

result<cluster_keys> read_key_file(const std::string& path) {
    const file_descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (!file)
        return error{errc::usage, "cannot open key file " + path + ": " + std::strerror(errno)};
    const auto text = read_text(file.get(), path);
    if (!text)
        return text.failure();
    return parse_keys(*text, path);
}

} // namespace troupe
