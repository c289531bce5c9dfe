#include "tools/troupe/own_key.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/troupe/commands.hpp"
#include "transport/handshake/handshake.hpp"
#include "transport/handshake/key_file.hpp"

namespace troupe::cli {

namespace {

constexpr const char* instead = "; give one by --key FILE instead";

error cannot_make(const std::string& path) {
    return {errc::io, "cannot make " + path +
                          " for the key of your nodes: " + std::strerror(errno) + instead};
}

// Nobody else may have made the folder or put something into it.
result<void> check_folder(const std::string& folder) {
    struct stat status {};
    if (lstat(folder.c_str(), &status) != 0)
        return cannot_make(folder);
    if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
        (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return error{errc::usage,
                     folder + " keeps the key of your nodes, but is not a folder "
                              "that you alone may use; remove it, or give a key by --key FILE"};
    return {};
}

// Whole or not at all: another command may make it at the same time.
result<void> make_key(const std::string& path) {
    const std::string draft = path + "." + std::to_string(getpid());
    const int file =
        open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return cannot_make(draft);
    std::string text;
    for (const std::byte b : draw_token())
        for (const unsigned half :
             {std::to_integer<unsigned>(b) >> 4, std::to_integer<unsigned>(b) & 15u})
            text += "0123456789abcdef"[half];
    const bool is_written =
        write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const bool is_there = is_written && (link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
    const auto outcome = is_there ? result<void>{} : result<void>{cannot_make(path)};
    close(file);
    unlink(draft.c_str());
    return outcome;
}

// In this folder, whose parent is there.
result<cluster_keys> own_key_in(const std::string& folder) {
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        return cannot_make(folder);
    if (auto usable = check_folder(folder); !usable)
        return usable.failure();
    const std::string path = folder + "/own.key";
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0)
        if (auto made = make_key(path); !made)
            return made.failure();
    return read_key_file(path);
}

} // namespace

result<cluster_keys> own_key() {
    struct stat status {};
    const std::string home = home_folder();
    if (!home.empty() && stat(home.c_str(), &status) == 0 && status.st_uid == geteuid()) {
        const std::string cache = home + "/.cache";
        mkdir(cache.c_str(), 0700); // without it the next folder cannot be made, and that says why
        auto key = own_key_in(cache + "/troupe");
        if (key || key.failure().code() != errc::io)
            return key;
    }
    return own_key_in("/tmp/troupe-" + std::to_string(geteuid()));
}

} // namespace troupe::cli
