#include "actors/scheduled/result_folder.hpp"

#include <algorithm>

#include "actors/checkpoint/checkpoint_folder.hpp"
#include "actors/checkpoint/file_writer.hpp"
#include "actors/scheduled/result_mark.hpp"

namespace troupe::scheduled {

namespace fs = std::filesystem;

namespace {

constexpr const char* hidden_name =
    ".partial-result"; // a folder with what a killed run has left, or a failed attempt

// Removed with what is in it, which is nothing where all has been moved.
class hidden_folder {
  public:
    explicit hidden_folder(const fs::path& in) : path_{in / hidden_name} {}
    hidden_folder(const hidden_folder&) = delete;
    hidden_folder& operator=(const hidden_folder&) = delete;
    ~hidden_folder() {
        std::error_code ignored; // the next attempt removes it
        fs::remove_all(path_, ignored);
    }

    const fs::path& path() const noexcept { return path_; }
    result<void> make() const {
        std::error_code failed;
        fs::remove_all(path_, failed);
        if (!failed)
            fs::create_directory(path_, failed);
        return failed ? file_error(path_, "made", failed.value()) : result<void>{};
    }
    // Names of files and folders, synced as far as they are files.
    result<std::vector<std::string>> synced() const {
        std::vector<std::string> names;
        std::error_code failed;
        for (fs::recursive_directory_iterator at{path_, failed}, end; !failed && at != end;
             at.increment(failed)) {
            if (at.depth() == 0)
                names.push_back(at->path().filename());
            std::error_code ignored;
            if (!at->is_regular_file(ignored))
                continue;
            if (auto done = sync_file(at->path()); !done)
                return done.failure();
        }
        if (failed)
            return file_error(path_, "listed", failed.value());
        std::ranges::sort(names);
        return names;
    }

  private:
    const fs::path path_;
};

// Errors name a file as it is to be named.
error as_named(const error& why, const fs::path& hidden, const fs::path& folder) {
    std::string text = why.message();
    if (const auto at = text.find(hidden.string()); at != std::string::npos)
        text.replace(at, hidden.string().size(), folder.string());
    return {why.code(), std::move(text)};
}

result<void> move_into(const fs::path& folder, const fs::path& hidden,
                       const std::vector<std::string>& names) {
    for (const std::string& name : names)
        if (auto moved = move_into_place(hidden / name, folder / name); !moved)
            return moved;
    return {};
}

} // namespace

result<std::vector<std::string>> write_into_place(const fs::path& folder, const std::string& mark,
                                                  const result_writer& write) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed)
        return file_error(folder, "made", failed.value());
    const hidden_folder hidden{folder};
    if (auto made = hidden.make(); !made)
        return as_named(made.failure(), hidden.path(), folder);
    auto written = write(hidden.path());
    if (!written)
        return as_named(written.failure(), hidden.path(), folder);
    const auto names = hidden.synced();
    if (!names)
        return as_named(names.failure(), hidden.path(), folder);
    std::vector<std::string> others; // of an earlier result
    for (const std::string& name : files_of_result(folder))
        if (std::ranges::count(*names, name) == 0)
            others.push_back(name);
    std::vector<std::string> listed = *names;
    listed.insert(listed.end(), others.begin(), others.end());
    if (auto marked = write_result_mark(hidden.path(), mark, listed); !marked)
        return as_named(marked.failure(), hidden.path(), folder);
    if (auto synced = sync_file(hidden.path() / result_mark_name); !synced)
        return as_named(synced.failure(), hidden.path(), folder);
    if (auto moved = move_into(folder, hidden.path(), {result_mark_name}); !moved)
        return moved.failure();
    if (auto moved = move_into(folder, hidden.path(), *names); !moved)
        return moved.failure();
    for (const std::string& name : others)
        if (!fs::remove(folder / name, failed) && failed)
            return file_error(folder / name, "deleted", failed.value());
    if (auto synced = sync_folder(folder); !synced)
        return synced.failure();
    return written;
}

} // namespace troupe::scheduled
