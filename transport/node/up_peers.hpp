// The peers that are up, by node.
//
// Threads: find() any. All else the progress thread, which alone changes the table and so walks it without the lock; that
// is taken alone. Ownership: a reference to each peer.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "schemas/base/ids.hpp"
#include "transport/peer_state.hpp"

namespace troupe {

class up_peers {
  public:
    using peer_ptr = std::shared_ptr<peer_state>;

    peer_ptr find(node_id node) const { // null if there is none
        std::lock_guard guard{lock_};
        const auto found = peers_.find(node);
        return found != peers_.end() ? found->second : nullptr;
    }

    void add(const peer_ptr& peer) {
        std::lock_guard guard{lock_};
        peers_[peer->info.node] = peer;
    }
    // False if it is another connection of the node that is up, or none.
    bool remove(const peer_ptr& peer) {
        std::lock_guard guard{lock_};
        return has(peer) && peers_.erase(peer->info.node) > 0;
    }

    bool has(const peer_ptr& peer) const {
        const auto found = peers_.find(peer->info.node);
        return found != peers_.end() && found->second == peer;
    }
    bool empty() const noexcept { return peers_.empty(); }
    auto begin() const noexcept { return peers_.begin(); }
    auto end() const noexcept { return peers_.end(); }

  private:
    mutable std::mutex lock_;
    std::unordered_map<node_id, peer_ptr> peers_;
};

} // namespace troupe
