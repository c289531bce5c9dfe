// Newcomers for whom there is no room yet, in the order in which they have come. Of one too many the last of the network
// that has most here goes, so that no crowd keeps newcomers of other networks out.
//
// Threads: the progress thread. Ownership: of their sockets.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>

#include "transport/tcp/socket.hpp"

namespace troupe {

struct newcomer {
    file_descriptor socket;
    std::string network; // where it comes from (network_of)
    std::string host;    // the same for people
    bool is_on_loopback = false;
};

class waiting_line {
  public:
    explicit waiting_line(std::size_t places) : places_{places} {}

    bool is_empty() const noexcept { return line_.empty(); }
    bool has(const std::string& network) const;
    // False if there was one too many, who has gone.
    bool add(newcomer last);
    // Takes out those for whose network there is room; `has_room` is asked again after each of them, and not again about a
    // network that has none.
    void leave(const std::function<bool(const std::string&)>& has_room,
               const std::function<void(newcomer)>& take);
    void clear() { line_.clear(); }

  private:
    const std::size_t places_;
    std::deque<newcomer> line_;
};

} // namespace troupe
