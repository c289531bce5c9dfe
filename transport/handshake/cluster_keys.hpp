// The keys of a cluster that a node holds, and what each is for. handshake.md says what a key proves about whom.
//
// Threads: values; a key_ring may be used by several threads.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/endpoint.hpp"

namespace troupe {

struct cluster_key {
    std::string secret;                 // empty: no key
    std::optional<peer_role> role = {}; // who is let in by it; none: everybody

    friend bool operator==(const cluster_key&, const cluster_key&) = default;
};

// The name of those who are let in by a key of this role, "runs"; of one of them, "a run"; and the word for it in key files.
std::string_view people_of(peer_role role) noexcept;
std::string_view one_of(peer_role role) noexcept;
std::string_view word_of(peer_role role) noexcept;

class cluster_keys {
  public:
    static constexpr std::size_t number_max = 16; // each costs a stranger's opening some work here

    cluster_keys() : cluster_keys{std::string{}} {} // no key
    // One key for everybody; empty: no key.
    explicit cluster_keys(std::string secret) : all_{cluster_key{std::move(secret)}} {}
    // At least one, in the order in which they are offered.
    explicit cluster_keys(std::vector<cluster_key> all) : all_{std::move(all)} {}

    bool has_key() const noexcept { return !all_.front().secret.empty(); }
    // A node accepts all of them.
    const std::vector<cluster_key>& all() const noexcept { return all_; }
    // The key that a node of this role offers: the first that lets it in. Null if there is none.
    const cluster_key* offered_by(peer_role role) const noexcept;

  private:
    std::vector<cluster_key> all_;
};

// The keys of a node now. They may be replaced while it runs: new connections use the new ones.
class key_ring {
  public:
    explicit key_ring(cluster_keys keys) : keys_{std::move(keys)} {}

    cluster_keys now() const {
        const std::lock_guard guard{lock_};
        return keys_;
    }
    void replace(cluster_keys keys) {
        const std::lock_guard guard{lock_};
        keys_ = std::move(keys);
    }

  private:
    mutable std::mutex lock_;
    cluster_keys keys_;
};

} // namespace troupe
