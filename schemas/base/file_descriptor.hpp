// An open file, socket or pipe, closed by the destructor.
//
// Threads: one per object.
#pragma once

#include <utility>

namespace troupe {

class file_descriptor {
  public:
    file_descriptor() noexcept = default; // of nothing: -1
    explicit file_descriptor(int number) noexcept : number_{number} {}
    file_descriptor(file_descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
    file_descriptor& operator=(file_descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~file_descriptor();

    int get() const noexcept { return number_; }
    explicit operator bool() const noexcept { return number_ >= 0; }

  private:
    int number_ = -1;
};

} // namespace troupe
