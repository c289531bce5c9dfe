#include "actors/checkpoint/checkpoint_folder.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace troupe {

namespace fs = std::filesystem;

namespace {

// Folders with these prefixes are not checkpoints yet, or no longer; open() removes those left by a killed process.
constexpr std::string_view partial_prefix = ".partial-";
constexpr std::string_view deleted_prefix = ".deleted-";
constexpr const char* another_folder = "another checkpoint.directory"; // before a run begins

result<void> remove_folder(const fs::path& folder) {
    std::error_code failed;
    fs::remove_all(folder, failed);
    if (failed)
        return file_error(folder, "deleted", failed.value());
    return {};
}

result<void> remove_leftovers(const fs::path& directory) {
    std::error_code failed;
    std::vector<fs::path> leftovers;
    for (fs::directory_iterator at{directory, failed}; !failed && at != fs::directory_iterator{};
         at.increment(failed)) {
        const std::string name = at->path().filename().string();
        if (name.starts_with(partial_prefix) || name.starts_with(deleted_prefix))
            leftovers.push_back(at->path());
    }
    if (failed)
        return file_error(directory, "listed", failed.value());
    for (const fs::path& leftover : leftovers)
        if (auto removed = remove_folder(leftover); !removed)
            return removed;
    return {};
}

// This folder and its parents that do not exist, innermost first.
std::vector<fs::path> missing_folders(const fs::path& folder) {
    std::vector<fs::path> missing;
    std::error_code failed;
    for (fs::path at = fs::absolute(folder, failed).lexically_normal();
         !fs::exists(at, failed) && at.has_relative_path(); at = at.parent_path())
        if (at.has_filename()) // skips a trailing slash
            missing.push_back(at);
    return missing;
}

} // namespace

result<void> move_into_place(const fs::path& from, const fs::path& to) {
    if (::rename(from.c_str(), to.c_str()) == 0)
        return {};
    if (errno != ENOTEMPTY && errno != EEXIST)
        return file_error(to, "put into place", errno);
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0)
        return file_error(to, "replaced", errno);
    [[maybe_unused]] const auto removed =
        remove_folder(from); // what is left goes at the next open()
    return {};
}

result<void> remove_whole(const fs::path& folder) {
    const fs::path hidden =
        folder.parent_path() / (std::string{deleted_prefix} + folder.filename().string());
    if (::rename(folder.c_str(), hidden.c_str()) != 0)
        return file_error(folder, "deleted", errno);
    return remove_folder(hidden);
}

partial_folder::partial_folder(partial_folder&& other) noexcept
    : path_{std::exchange(other.path_, {})} {}

partial_folder& partial_folder::operator=(partial_folder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
}

partial_folder::~partial_folder() {
    std::error_code ignored; // leftovers are removed by the next open()
    if (!path_.empty())
        fs::remove_all(path_, ignored);
}

result<void> partial_folder::put_into_place(const std::string& name) {
    if (auto synced = sync_folder(path_); !synced)
        return synced;
    const fs::path directory = path_.parent_path();
    if (auto moved = move_into_place(path_, directory / name); !moved)
        return moved;
    path_.clear();
    return sync_folder(directory);
}

result<checkpoint_folder> checkpoint_folder::open(fs::path directory) {
    checkpoint_folder folder;
    std::error_code failed;
    folder.made_ = missing_folders(directory);
    fs::create_directories(directory, failed);
    if (failed)
        return error{errc::io, directory.string() + ": cannot be made: " + failed.message() +
                                   "; choose another checkpoint.directory"};
    folder.directory_ = directory;
    if (auto locked = folder.lock(); !locked)
        return locked.failure();
    if (::access(directory.c_str(), W_OK) != 0)
        return file_error(directory, "written", errno, another_folder);
    if (auto removed = remove_leftovers(directory); !removed)
        return removed.failure();
    return folder;
}

result<void> checkpoint_folder::lock() {
    file_descriptor now{::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!now)
        return file_error(directory_, "opened", errno, another_folder);
    if (::flock(now.get(), LOCK_EX | LOCK_NB) != 0)
        return error{errc::usage, directory_.string() +
                                      ": another run saves its checkpoints here; choose " +
                                      another_folder};
    lock_ = std::move(now);
    return {};
}

bool checkpoint_folder::has_been_replaced() const {
    struct stat held {};
    struct stat now {};
    return ::fstat(lock_.get(), &held) != 0 || ::stat(directory_.c_str(), &now) != 0 ||
           held.st_dev != now.st_dev || held.st_ino != now.st_ino;
}

checkpoint_folder::~checkpoint_folder() {
    for (const fs::path& folder : made_)
        if (::rmdir(folder.c_str()) !=
            0) // has something in it, or is a link that a user has put there
            return;
}

result<partial_folder> checkpoint_folder::begin(const std::string& name) {
    std::error_code failed;
    if (!fs::is_directory(directory_, failed))
        return error{errc::io, directory_.string() +
                                   ": the folder for checkpoints is gone; nothing can be "
                                   "saved there until it is made anew"};
    if (has_been_replaced())
        if (auto locked = lock(); !locked)
            return error{errc::io, locked.failure().message()}; // it may be free later
    const fs::path partial = directory_ / (std::string{partial_prefix} + name);
    if (auto removed = remove_folder(partial); !removed) // an attempt may have failed to
        return removed.failure();
    if (fs::create_directory(partial, failed))
        return partial_folder{partial};
    return file_error(directory_ / name, "made", failed ? failed.value() : EEXIST);
}

} // namespace troupe
