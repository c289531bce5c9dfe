// Private to actors/runtime: the peers of a node as its actors see them: who is up and was heard when, the proxies of its
// actors, the local actors that rest until it takes frames again, why the latest were lost, and who is told of all that.
//
// Threads: any. One lock guards all of it; what is called under it is make_proxy, actor_shell::hold, and the functions that
// subscribe, begin_to_listen and add are given: so a subscriber is told of changes in the order in which they happen. These
// may post to actors of this node, and call nothing of this object. What is taken out (take_proxy, remove, take_parked) is
// ended, released and told of by the caller, without the lock. The order of locks stands in node_core.hpp.
// Ownership: a reference to each proxy, and to each actor that rests. Errors: a peer that is unknown changes nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <caf/actor_control_block.hpp>

#include "schemas/base/error.hpp"
#include "schemas/base/ids.hpp"
#include "schemas/base/time_source.hpp"
#include "transport/endpoint.hpp"

namespace troupe {

class actor_shell;

class peer_table {
  public:
    using proxies = std::map<actor_number, caf::strong_actor_ptr>;
    using tell = std::function<void(actor_address subscriber)>;
    using tell_of_peer = std::function<void(actor_address subscriber, const peer_info& peer)>;

    // The way to an actor of a peer.
    struct path {
        caf::strong_actor_ptr proxy; // null if the peer is not up or has as many as allowed
        std::uint64_t epoch = 0;     // number of times that the peer became writable
    };

    // The remains of a peer that is gone.
    struct remains {
        proxies ended;
        std::vector<caf::strong_actor_ptr> parked;
        std::vector<actor_address> subscribers;
        error reason; // with the node's name
    };

    explicit peer_table(std::function<caf::strong_actor_ptr(actor_address)> make_proxy);
    peer_table(const peer_table&) = delete;
    peer_table& operator=(const peer_table&) = delete;

    // -- coming and going --
    void add(const peer_info& peer, time_point now, const tell_of_peer& is_up);
    std::optional<remains> remove(node_id gone, const error& why); // none if it was not up
    void clear();
    std::vector<peer_info> list() const;
    // Why there is no such peer, for actors that begin to watch after the loss.
    error why_not_up(node_id peer) const;

    // Notes a sign of life, and returns the peer's role.
    peer_role hear(node_id from, time_point now);
    std::optional<time_point> last_heard(node_id peer) const;

    // -- proxies --
    path path_to(actor_address remote);                         // makes the proxy if there is none
    caf::strong_actor_ptr proxy_of(actor_address remote) const; // null if there is none
    caf::strong_actor_ptr take_proxy(actor_address remote);     // null if there is none

    // -- congestion --
    // Lets `self` rest until the peer takes frames again, unless it already has since that epoch.
    void park(actor_shell& self, node_id peer, std::uint64_t epoch);
    std::vector<caf::strong_actor_ptr> take_parked(node_id peer); // it takes frames again

    // -- subscribers --
    // Tells the new one that the node listens, if it does, and of each peer that is up.
    void subscribe(actor_address local, const tell& listens, const tell_of_peer& is_up);
    void begin_to_listen(const tell& listens);
    bool is_listening() const;
    std::vector<actor_address> subscribers() const;

  private:
    struct peer {
        peer_info info;
        peer_table::proxies proxies;
        time_point last_heard; // time at which it last sent anything or came up
        std::uint64_t epoch = 0;
        std::vector<caf::strong_actor_ptr> parked;
    };

    static constexpr std::size_t lost_max = 64;

    const std::function<caf::strong_actor_ptr(actor_address)> make_proxy_;
    mutable std::mutex lock_;
    std::map<node_id, peer> up_;                 // guarded by lock_, as all below
    std::deque<std::pair<node_id, error>> lost_; // the reasons for the latest losses, oldest first
    std::vector<actor_address> subscribers_;
    bool listening_ = false;
};

} // namespace troupe
