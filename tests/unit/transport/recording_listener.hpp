// A listener that writes down what it is told, one line per call.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "transport/endpoint.hpp"

namespace troupe {

class recording_listener : public endpoint_listener {
  public:
    void peer_up(const peer_info& peer) override { note("up " + peer.name); }
    void frame_arrived(node_id from, frame_ptr f) override {
        note("frame " + std::to_string(from.value()) + " " +
             std::to_string(f->body<proto::Rejected>().getSequence()));
        if (on_frame)
            on_frame(from, f);
    }
    void peer_writable(node_id peer) override { note("writable " + std::to_string(peer.value())); }
    void peer_alive(node_id) override { ++alive; }
    void peer_down(node_id peer, const error& why) override {
        note("down " + std::to_string(peer.value()) + " " + std::string{to_string(why.code())});
    }
    void connect_failed(const std::string& address, const error& why) override {
        note("failed " + address + " " + std::string{to_string(why.code())});
    }

    std::vector<std::string> lines;
    std::size_t alive = 0; // signs of life, which are no lines
    std::function<void(node_id, const frame_ptr&)> on_frame;

  private:
    void note(std::string line) { lines.push_back(std::move(line)); }
};

inline frame_ptr numbered_frame(std::uint64_t number) {
    frame_builder<proto::Rejected> b;
    b.body().setSequence(number);
    return std::move(b).finish();
}

} // namespace troupe
