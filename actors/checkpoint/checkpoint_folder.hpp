// A folder for checkpoints: each of them is a folder in it, which appears whole or not at all. Internal to those who save.
//
// A checkpoint is written into a hidden folder next to the others, synced, and renamed into place. What a killed process
// has left is removed when the folder is opened again. A folder that another one has replaced meanwhile, such as a symbolic
// link to where it has been moved, is locked anew by the next checkpoint.
//
// Threads: one at a time. Blocks on files. Errors: errc::io with the file's name, errc::usage if another run has the folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "actors/checkpoint/file_writer.hpp"
#include "schemas/base/file_descriptor.hpp"

namespace troupe {

// A checkpoint that is being written. Destroyed before it is put into place, it leaves no files.
class partial_folder {
  public:
    partial_folder(partial_folder&& other) noexcept;
    partial_folder& operator=(partial_folder&& other) noexcept;
    ~partial_folder();

    const std::filesystem::path& path() const noexcept { return path_; } // write here

    // Gives it its name, in place of one that has it. Everything in it must have been synced.
    result<void> put_into_place(const std::string& name);

  private:
    friend class checkpoint_folder;
    explicit partial_folder(std::filesystem::path path) : path_{std::move(path)} {}

    std::filesystem::path path_; // empty: nothing to remove
};

class checkpoint_folder {
  public:
    // Makes the folder if it is missing, locks it, and removes what a killed process has left.
    static result<checkpoint_folder> open(std::filesystem::path directory);
    checkpoint_folder(checkpoint_folder&&) noexcept = default;
    checkpoint_folder& operator=(checkpoint_folder&&) noexcept = default;
    // Removes the folders that `open` has made, if they are empty.
    ~checkpoint_folder();

    const std::filesystem::path& path() const noexcept { return directory_; }
    result<partial_folder> begin(const std::string& name);

  private:
    checkpoint_folder() = default;
    result<void> lock();            // the folder that has this name now
    bool has_been_replaced() const; // since it was locked

    std::filesystem::path directory_;
    std::vector<std::filesystem::path> made_; // by open(), innermost first
    file_descriptor lock_;                    // on the folder
};

// Moves a finished file or folder to its final name. An existing folder is exchanged atomically and then deleted.
result<void> move_into_place(const std::filesystem::path& from, const std::filesystem::path& to);

// Hides a checkpoint before it deletes its files, so that nobody sees one with files missing.
result<void> remove_whole(const std::filesystem::path& checkpoint);

} // namespace troupe
