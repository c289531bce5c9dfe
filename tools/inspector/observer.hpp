// A small synchronous client over an endpoint: asks an actor of a node and waits for its answer.
//
// The answers of the protocols used here have no number of their own: an observer has at most one question out at a
// node, and gives up a node that does not answer in time, so an answer is always to the last question.
//
// Threads: the public methods belong to one thread; the endpoint's queues what arrives. Waiting ends at the latest
// when the patience is over, when the node is lost, or when `stop` returns true.
// Errors: errc::lost when the node is gone or silent, errc::refused with its reason when it rejects the question,
// errc::cancelled when asked to stop.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <kj/exception.h>

#include "schemas/base/time_source.hpp"
#include "transport/endpoint.hpp"

namespace troupe::inspector {

class observer final : private endpoint_listener {
  public:
    struct options {
        node_id self;
        duration patience = std::chrono::seconds{5};
        std::function<bool()> stop; // null: never
    };

    struct arrival {
        node_id from;
        frame_ptr message;
    };

    struct departure {
        peer_info peer;
        error why;
    };

    observer(endpoint& network, const time_source& time, options o);
    ~observer() override; // closes the endpoint
    observer(const observer&) = delete;
    observer& operator=(const observer&) = delete;

    result<void> start();
    result<peer_info> connect(const std::string& address);
    // Connects to all of them at once, within `length`: the peers that have come up, and why others have not. An address
    // that is in neither list has not answered.
    struct connected {
        std::vector<peer_info> peers;
        std::map<std::string, error> failed; // by address
    };
    connected connect_all(const std::vector<std::string>& addresses, duration length);

    // Asks and returns decode(Answer::Reader) of the answer, a result<T>. A node whose answer cannot be read or breaks the
    // protocol is given up.
    template <class Answer, class Question, class Decode>
    auto ask(actor_address to, frame_builder<Question>&& question, const Decode& decode)
        -> decltype(decode(typename Answer::Reader{})) {
        const std::uint64_t sequence = stamp(to, question.envelope());
        const auto answer =
            send_and_wait(to, sequence, std::move(question).finish(), type_id_of<Answer>());
        if (!answer)
            return answer.failure();
        std::string problem;
        try {
            auto decoded = decode((*answer)->template body<Answer>());
            if (decoded || decoded.failure().code() != errc::protocol)
                return decoded;
            problem = decoded.failure().message();
        } catch (const kj::Exception& malformed) {
            problem = malformed.getDescription().cStr();
        }
        return give_up_unreadable(to.node, problem);
    }

    // Sends without waiting for an answer; a node that is gone is reported by departures().
    template <class Body>
    void tell(actor_address to, frame_builder<Body>&& message) {
        stamp(to, message.envelope());
        network_.send(to.node, std::move(message).finish());
    }

    // Returns the next message of this type that is no answer; waits at most `wait` for it. Messages of other types are
    // dropped.
    std::optional<arrival> next(std::uint64_t type, duration wait);

    // Waits for `length`; returns false if asked to stop.
    bool rest(duration length);

    std::vector<departure> departures(); // departures since the last call
    // Waits until the node's connection has ended. Returns false if it has not ended in time.
    bool await_departure(node_id node);
    void give_up(node_id node, error why);
    error give_up_unreadable(node_id node, const std::string& problem); // returns errc::lost
    bool stopped() const { return options_.stop && options_.stop(); }
    const time_source& time() const noexcept { return time_; }

    // Bound on the bytes of waiting messages; a node whose message would exceed it is disconnected.
    static constexpr std::size_t waiting_bytes_max = std::size_t{1} << 28;

  private:
    void peer_up(const peer_info& peer) override;
    void frame_arrived(node_id from, frame_ptr f) override;
    void peer_writable(node_id) override {}
    void peer_down(node_id peer, const error& why) override;
    void connect_failed(const std::string& address, const error& why) override;

    std::uint64_t stamp(actor_address to, proto::Envelope::Builder envelope);
    result<frame_ptr> send_and_wait(actor_address to, std::uint64_t sequence, frame_ptr question,
                                    std::uint64_t answer);
    result<frame_ptr> wait_for_answer(actor_address to, std::uint64_t sequence,
                                      std::uint64_t answer);
    std::string name_of(node_id node) const;
    template <class Condition>
    bool wait_until(std::unique_lock<std::mutex>& held, duration length, Condition condition);
    frame_ptr take_if(const std::function<bool(const arrival&)>& wanted);

    endpoint& network_;
    const time_source& time_;
    const options options_;
    std::uint64_t sequence_ = 0;

    mutable std::mutex lock_; // guards the members below
    std::condition_variable changed_;
    std::deque<arrival> arrived_;
    std::size_t arrived_bytes_ = 0;
    std::map<node_id, peer_info> peers_; // up
    std::deque<peer_info> new_peers_;
    std::map<std::string, error> failed_;
    std::vector<departure> departed_;
};

} // namespace troupe::inspector
