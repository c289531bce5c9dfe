// What the conformance suite needs of a transport: nodes with listeners that remember, peers that can be killed and
// stopped, and a way to wait. One world per transport: sim_world, shm_world, tcp_world,
// sealed_world, rdma_world.
#pragma once

#include <sys/types.h>

#include <boost/mpl/list.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/numbered_identity.hpp"
#include "transport/endpoint.hpp"
#include "transport/node/node_endpoint.hpp"
#include "transport/sim/sim_network.hpp"

namespace troupe::conformance {

// Remembers what it is told; read it from any thread.
class remembering_listener final : public endpoint_listener {
  public:
    void peer_up(const peer_info& peer) override;
    void frame_arrived(node_id from, frame_ptr f) override;
    void peer_writable(node_id peer) override;
    void peer_down(node_id peer, const error& why) override;
    void connect_failed(const std::string& address, const error& why) override;

    std::vector<peer_info> ups() const;
    std::vector<std::pair<node_id, frame_ptr>> frames() const;
    std::size_t frame_count() const;
    std::size_t writables() const;
    std::vector<std::pair<node_id, errc>> downs() const;
    std::string last_reason() const; // of the latest down or failure
    std::vector<errc> failures() const;
    void forget_frames();

    // Answers every frame with itself.
    void echo_to(endpoint* e);

  private:
    mutable std::mutex lock_;
    std::vector<peer_info> ups_;
    std::vector<std::pair<node_id, frame_ptr>> frames_;
    std::size_t frame_count_ = 0;
    std::size_t writables_ = 0;
    std::vector<std::pair<node_id, errc>> downs_;
    std::vector<errc> failures_;
    std::string last_reason_;
    endpoint* echo_ = nullptr;
};

struct node {
    node() = default;
    node(node&&) = default;
    ~node();
    std::unique_ptr<remembering_listener> heard = std::make_unique<remembering_listener>();
    std::unique_ptr<endpoint> end;
    node_id id;
};

struct node_settings {
    std::string name;
    std::string key = "a key for the tests";
    std::shared_ptr<key_ring> ring = nullptr; // of UCX's nodes, in the place of `key`
    peer_role role = peer_role::member;       // of UCX's nodes
    std::string address;                      // empty: the world's choice
    send_bounds bounds;
    duration handshake_timeout = std::chrono::seconds{20}; // where there is one
    std::size_t handshakes_max = 64;
    duration spin = std::chrono::microseconds{30}; // where there is a thread that does
    std::uint64_t busy_rounds = 1000;
    std::function<void(const std::string&)> log = {}; // of UCX's nodes
};

// A node elsewhere that echoes every frame: another process where the transport has processes.
class echo_peer {
  public:
    virtual ~echo_peer() = default;
    virtual std::string address() const = 0;
    virtual void kill() = 0;
    virtual void stop() = 0;
    virtual void resume() = 0;
};

class world {
  public:
    virtual ~world() = default;

    // The endpoint of the node with this number, and its id.
    virtual result<std::unique_ptr<endpoint>> make(const node_settings& settings,
                                                   std::uint64_t number) = 0;
    virtual node_id id_of(std::uint64_t number) const { return node_id{number}; }
    virtual std::unique_ptr<echo_peer> start_echo() = 0;
    // Runs or waits until `condition` holds; false if it does not within what should be plenty.
    virtual bool wait_for(const std::function<bool()>& condition) = 0;
    // Lets everything that would happen soon happen.
    virtual void settle() = 0;
    virtual std::string nobody() const = 0; // an address where nobody listens

    node add_with(const node_settings& settings);
    node add(const std::string& name);
    // Connects and waits until both are up.
    void join(node& from, node& to);
    node_id join(node& from, const echo_peer& to);

    memory_pool pool{3ull << 30};
};

class sim_world final : public world {
  public:
    sim_world();
    result<std::unique_ptr<endpoint>> make(const node_settings& settings,
                                           std::uint64_t number) override;
    std::unique_ptr<echo_peer> start_echo() override;
    bool wait_for(const std::function<bool()>& condition) override;
    void settle() override;
    std::string nobody() const override { return "nobody"; }

  private:
    event_queue events_;
    sim_network net_;
    std::uint64_t nodes_total_ = 100;
};

// The machine's time, which a test may put forward.
class shifted_time final : public time_source {
  public:
    time_point now() const noexcept override {
        return machine_.now() + std::chrono::nanoseconds{shift_ns_.load()};
    }
    void shift(duration by) noexcept { shift_ns_ += by.count(); }

  private:
    monotonic_time machine_;
    std::atomic<std::int64_t> shift_ns_{0};
};

class node_world : public world {
  public:
    explicit node_world(link_transports transports, sealing seals = sealing::between_machines)
        : transports_{transports}, seals_{seals} {}
    result<std::unique_ptr<endpoint>> make(const node_settings& settings,
                                           std::uint64_t number) override;
    node_id id_of(std::uint64_t number) const override {
        return test::numbered_identity(number).node();
    }
    std::unique_ptr<echo_peer> start_echo() override;
    bool wait_for(const std::function<bool()>& condition) override;
    void settle() override;
    std::string nobody() const override { return "127.0.0.1:9"; }
    void pass(duration by) { time_.shift(by); }

  private:
    link_transports transports_;
    sealing seals_;
    shifted_time time_;
};

struct shm_world : node_world {
    shm_world() : node_world{link_transports::shm} {}
};
struct tcp_world : node_world {
    tcp_world() : node_world{link_transports::tcp} {}
};
struct sealed_world : node_world {
    sealed_world() : node_world{link_transports::tcp, sealing::always} {}
};
struct rdma_world
    : node_world { // where there are devices: transport_suite.cpp leaves it out elsewhere
    rdma_world() : node_world{link_transports::rdma} {}
};

using worlds = boost::mpl::list<sim_world, shm_world, tcp_world, sealed_world, rdma_world>;

// A frame with a number, `text` bytes of text and tensors of these sizes, filled with a pattern of the number.
frame_ptr numbered_frame(memory_pool& pool, std::uint64_t number,
                         std::vector<std::size_t> tensors = {}, std::size_t text = 0);
// Whether `f` is that frame.
bool is_numbered(const frame& f, std::uint64_t number, const std::vector<std::size_t>& tensors = {},
                 std::size_t text = 0);

} // namespace troupe::conformance
