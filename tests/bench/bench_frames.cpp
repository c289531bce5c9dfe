// Frames between two processes: latency one way (half a round trip, the median of many) and bandwidth (a stream with a
// bounded number of frames under way), per size of the tensor that each frame carries. One JSON object per line.
//     bench_frames shm|tcp|sealed [SIZE...]
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "transport/node/node_endpoint.hpp"

using namespace troupe;

namespace {

constexpr std::size_t acknowledge_every = 8; // frames of a stream
constexpr std::size_t under_way_max = 32;
constexpr std::size_t under_way_bytes_max = 256u << 20;

const monotonic_time time_;

// What a frame is for, in the sequence of its body.
enum class purpose : std::uint64_t { ping, stream, acknowledgement };

frame_ptr make_frame(purpose what, const tensor& payload) {
    frame_builder<proto::Rejected> b;
    b.body().setSequence(static_cast<std::uint64_t>(what));
    if (payload)
        b.attach(payload);
    return std::move(b).finish();
}

purpose purpose_of(const frame& f) {
    return static_cast<purpose>(f.body<proto::Rejected>().getSequence());
}

enum class link_form : std::uint8_t { shm, tcp, sealed };
constexpr const char* form_names[] = {"shm", "tcp", "sealed"};

class node : public endpoint_listener {
  public:
    explicit node(link_form form) : pool{4ull << 30} {
        endpoint_options options;
        options.self.name = "bench";
        options.self.address = "127.0.0.1:0";
        options.links.pool = &pool;
        options.links.time = &time_;
        options.transports =
            form == link_form::shm ? link_transports::automatic : link_transports::tcp;
        options.seals = form == link_form::sealed ? sealing::always : sealing::between_machines;
        options.bounds.bytes_soft = 1ull << 31;
        auto made = make_node_endpoint(std::move(options));
        TROUPE_CHECK(made.ok(), "UCX starts on this machine");
        end = std::move(*made);
        TROUPE_CHECK(end->start(*this).ok(), "some port is free");
    }

    void peer_up(const peer_info& p) override {
        std::lock_guard guard{lock};
        peer = p.node;
        changed.notify_all();
    }
    void frame_arrived(node_id from, frame_ptr f) override { on_frame(from, std::move(f)); }
    void peer_writable(node_id) override {}
    void peer_down(node_id, const error&) override {}
    void connect_failed(const std::string&, const error& why) override {
        std::fprintf(stderr, "%s\n", why.message().c_str());
        std::exit(1);
    }

    void wait(const std::function<bool()>& done) {
        std::unique_lock guard{lock};
        changed.wait(guard, done);
    }

    memory_pool pool;
    std::function<void(node_id, frame_ptr)> on_frame;
    std::mutex lock;
    std::condition_variable changed;
    node_id peer;
    std::unique_ptr<endpoint> end; // last: its thread ends first
};

// Echoes pings, acknowledges streams.
int serve(link_form form) {
    node n{form};
    std::size_t streamed = 0;
    n.on_frame = [&](node_id from, frame_ptr f) {
        if (purpose_of(*f) == purpose::ping)
            n.end->send(from, std::move(f));
        else if (++streamed % acknowledge_every == 0)
            n.end->send(from, make_frame(purpose::acknowledgement, {}));
    };
    std::printf("%s\n", n.end->address().c_str());
    std::fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    n.end->close();
    return 0;
}

double latency_us(node& n, const tensor& payload, std::size_t rounds) {
    std::vector<std::int64_t> times;
    bool done = false;
    time_point sent;
    n.on_frame = [&](node_id from, frame_ptr f) {
        times.push_back((time_.now() - sent).count());
        f.reset();
        if (times.size() < rounds) {
            sent = time_.now();
            n.end->send(from, make_frame(purpose::ping, payload));
            return;
        }
        std::lock_guard guard{n.lock};
        done = true;
        n.changed.notify_all();
    };
    times.reserve(rounds);
    sent = time_.now();
    n.end->send(n.peer, make_frame(purpose::ping, payload));
    n.wait([&] { return done; });
    times.erase(times.begin(),
                times.begin() + static_cast<std::ptrdiff_t>(times.size() / 5)); // warming up
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return static_cast<double>(times[times.size() / 2]) / 2000;
}

double bandwidth_gbs(node& n, const tensor& payload, std::size_t frames) {
    const std::size_t window = std::max(
        2 * acknowledge_every,
        std::min(under_way_max, under_way_bytes_max / std::max<std::size_t>(payload.bytes(), 1)));
    std::size_t sent = 0;
    std::size_t acknowledged = 0;
    const auto fill = [&](node_id to) {
        for (; sent < frames && sent < acknowledged + window; ++sent)
            n.end->send(to, make_frame(purpose::stream, payload));
    };
    bool done = false;
    bool started = false;
    n.on_frame = [&](node_id from, const frame_ptr& f) {
        if (purpose_of(*f) == purpose::ping)
            started = true; // the stream is filled from here, on the endpoint's thread
        else
            acknowledged += acknowledge_every;
        fill(from);
        if (!started || acknowledged < frames)
            return;
        std::lock_guard guard{n.lock};
        done = true;
        n.changed.notify_all();
    };
    const time_point start = time_.now();
    n.end->send(n.peer, make_frame(purpose::ping, {}));
    n.wait([&] { return done; });
    return static_cast<double>(frames) * static_cast<double>(payload.bytes()) /
           static_cast<double>((time_.now() - start).count());
}

int measure(link_form form, const std::string& address, std::vector<std::size_t> sizes) {
    node n{form};
    n.end->connect(address);
    n.wait([&] { return n.peer.value() != 0; });
    for (const std::size_t size : sizes) {
        tensor payload = tensor::allocate(n.pool, data_type::uint8, {size}).value();
        std::memset(payload.mutable_data(), 1, payload.bytes());
        const std::size_t rounds = std::clamp<std::size_t>((200u << 20) / (size + 1), 20, 20000);
        const std::size_t frames =
            rounds / acknowledge_every * acknowledge_every + acknowledge_every;
        const double us = latency_us(n, payload, rounds);
        // Until the receiver's pool has its buffers, as a run has after its first steps.
        (void)bandwidth_gbs(
            n, payload,
            std::max(frames / 8 / acknowledge_every * acknowledge_every, under_way_max));
        const double gbs = bandwidth_gbs(n, payload, frames);
        std::printf("{\"transport\": \"%s\", \"size\": %zu, \"latency_us\": %.3f, "
                    "\"bandwidth_gbs\": %.4f}\n",
                    form_names[static_cast<std::size_t>(form)], size, us, gbs);
        std::fflush(stdout);
    }
    n.end->close();
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const auto* const named = std::ranges::find_if(
        form_names, [&](const char* name) { return argc >= 2 && std::strcmp(argv[1], name) == 0; });
    if (named == std::end(form_names)) {
        std::fprintf(stderr, "bench_frames shm|tcp|sealed [SIZE...]\n");
        return 2;
    }
    const auto form = static_cast<link_form>(named - form_names);
    std::vector<std::size_t> sizes;
    for (int i = 2; i < argc; ++i)
        sizes.push_back(std::strtoull(argv[i], nullptr, 10));
    if (sizes.empty())
        sizes = {64, 512, 4096, 32768, 262144, 1 << 20, 8u << 20, 64u << 20};

    int in[2];
    int out[2];
    if (pipe(in) != 0 || pipe(out) != 0)
        return 1;
    const pid_t child = fork(); // before there is any thread
    if (child == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        for (const int descriptor : {in[0], in[1], out[0], out[1]})
            close(descriptor);
        return serve(form);
    }
    close(in[0]);
    close(out[1]);
    char line[256] = "";
    const ssize_t got = read(out[0], line, sizeof line - 1);
    if (got < 2)
        return 1;
    line[got - 1] = '\0';
    const int status = measure(form, line, sizes);
    close(in[1]);
    waitpid(child, nullptr, 0);
    return status;
}
