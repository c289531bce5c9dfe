#include "tests/conformance/transport_world.hpp"

#include <boost/test/unit_test.hpp>

#include <poll.h>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "schemas/base/random.hpp"

namespace troupe::conformance {

using namespace std::chrono_literals;

// --- listener

void remembering_listener::peer_up(const peer_info& peer) {
    std::lock_guard guard{lock_};
    ups_.push_back(peer);
}

void remembering_listener::frame_arrived(node_id from, frame_ptr f) {
    endpoint* echo = nullptr;
    {
        std::lock_guard guard{lock_};
        ++frame_count_;
        echo = echo_;
        if (echo == nullptr)
            frames_.emplace_back(from, f);
    }
    if (echo != nullptr)
        echo->send(from, std::move(f));
}

void remembering_listener::peer_writable(node_id) {
    std::lock_guard guard{lock_};
    ++writables_;
}

void remembering_listener::peer_down(node_id peer, const error& why) {
    std::lock_guard guard{lock_};
    downs_.emplace_back(peer, why.code());
    last_reason_ = why.message();
}

void remembering_listener::connect_failed(const std::string&, const error& why) {
    std::lock_guard guard{lock_};
    failures_.push_back(why.code());
    last_reason_ = why.message();
}

std::vector<peer_info> remembering_listener::ups() const {
    std::lock_guard guard{lock_};
    return ups_;
}
std::vector<std::pair<node_id, frame_ptr>> remembering_listener::frames() const {
    std::lock_guard guard{lock_};
    return frames_;
}
std::size_t remembering_listener::frame_count() const {
    std::lock_guard guard{lock_};
    return frame_count_;
}
std::size_t remembering_listener::writables() const {
    std::lock_guard guard{lock_};
    return writables_;
}
std::vector<std::pair<node_id, errc>> remembering_listener::downs() const {
    std::lock_guard guard{lock_};
    return downs_;
}
std::string remembering_listener::last_reason() const {
    std::lock_guard guard{lock_};
    return last_reason_;
}
std::vector<errc> remembering_listener::failures() const {
    std::lock_guard guard{lock_};
    return failures_;
}
void remembering_listener::forget_frames() {
    std::lock_guard guard{lock_};
    frames_.clear();
    frame_count_ = 0;
}
void remembering_listener::echo_to(endpoint* e) {
    std::lock_guard guard{lock_};
    echo_ = e;
}

node::~node() {
    if (end != nullptr)
        end->close();
}

// --- worlds

node world::add(const std::string& name) {
    node_settings settings;
    settings.name = name;
    return add_with(settings);
}

node world::add_with(const node_settings& settings) {
    static std::uint64_t nodes_total = 0;
    node n;
    n.id = id_of(++nodes_total);
    auto made = make(settings, nodes_total);
    BOOST_TEST_REQUIRE(made.ok());
    n.end = std::move(*made);
    BOOST_TEST_REQUIRE(n.end->start(*n.heard).ok());
    return n;
}

void world::join(node& from, node& to) {
    from.end->connect(to.end->address());
    const auto knows = [](const node& a, const node& b) {
        for (const peer_info& p : a.heard->ups())
            if (p.node == b.id)
                return true;
        return false;
    };
    BOOST_TEST_REQUIRE(wait_for([&] { return knows(from, to) && knows(to, from); }));
}

node_id world::join(node& from, const echo_peer& to) {
    const std::size_t before = from.heard->ups().size();
    from.end->connect(to.address());
    BOOST_TEST_REQUIRE(wait_for([&] { return from.heard->ups().size() > before; }));
    return from.heard->ups().back().node;
}

sim_world::sim_world()
    : net_{events_,
           {.seed = 11,
            .faults = {.delay_min = 5us, .delay_max = 200us, .drop = 0.05, .duplicate = 0.05}}} {}

result<std::unique_ptr<endpoint>> sim_world::make(const node_settings& settings,
                                                  std::uint64_t number) {
    sim_node_options options;
    options.self.node = id_of(number);
    options.self.name = settings.name;
    options.self.address = settings.address.empty() ? settings.name : settings.address;
    options.key = settings.key;
    options.bounds = settings.bounds;
    return net_.make_endpoint(std::move(options));
}

namespace {

class sim_echo final : public echo_peer {
  public:
    sim_echo(sim_network& net, std::unique_ptr<endpoint> end, node_id id)
        : net_{net}, end_{std::move(end)}, id_{id} {
        heard_.echo_to(end_.get());
        BOOST_TEST_REQUIRE(end_->start(heard_).ok());
    }
    std::string address() const override { return end_->address(); }
    void kill() override { net_.kill(id_); }
    void stop() override { net_.stop(id_); }
    void resume() override { net_.resume(id_); }

  private:
    sim_network& net_;
    remembering_listener heard_;
    std::unique_ptr<endpoint> end_;
    node_id id_;
};

// A child process that runs transport_peer; ends with this object.
class process_echo final : public echo_peer {
  public:
    process_echo(link_transports transports, sealing seals) {
        std::array<int, 2> in{};
        std::array<int, 2> out{};
        BOOST_TEST_REQUIRE(pipe(in.data()) == 0);
        BOOST_TEST_REQUIRE(pipe(out.data()) == 0);
        constexpr std::array names{"auto", "shm", "tcp", "rdma"}; // as the enumeration has them
        const char* const name =
            seals == sealing::always ? "sealed" : names.at(static_cast<std::size_t>(transports));
        child_ = fork();
        BOOST_TEST_REQUIRE(child_ >= 0);
        if (child_ == 0) {
            dup2(in[0], STDIN_FILENO);
            dup2(out[1], STDOUT_FILENO);
            for (const int descriptor : {in[0], in[1], out[0], out[1]})
                close(descriptor);
            execl(TROUPE_TRANSPORT_PEER, TROUPE_TRANSPORT_PEER, name, "a key for the tests",
                  nullptr);
            _exit(127);
        }
        close(in[0]);
        close(out[1]);
        keep_alive_ = in[1];
        alive_ = out[0];
        char line[256] = "";
        const ssize_t got = read(alive_, line, sizeof line - 1);
        BOOST_TEST_REQUIRE(got > 1);
        address_.assign(line, static_cast<std::size_t>(got) - 1);
    }
    ~process_echo() override {
        ::kill(child_, SIGCONT);
        close(keep_alive_); // it closes and ends
        pollfd end{alive_, 0, 0};
        BOOST_TEST(poll(&end, 1, 10'000) == 1); // until its side of the pipe is gone
        ::kill(child_, SIGKILL);
        int status = 0;
        waitpid(child_, &status, 0);
        BOOST_TEST((status == 0 || is_killed_)); // not 0 after the report of a sanitizer
        close(alive_);
    }
    std::string address() const override { return address_; }
    void kill() override {
        is_killed_ = true;
        ::kill(child_, SIGKILL);
    }
    void stop() override {
        ::kill(child_, SIGSTOP);
        waitpid(child_, nullptr, WUNTRACED); // until it has really stopped
    }
    void resume() override { ::kill(child_, SIGCONT); }

  private:
    pid_t child_ = -1;
    bool is_killed_ = false;
    int keep_alive_ = -1; // closing it tells the child to end
    int alive_ = -1;      // open at the other end while the child lives
    std::string address_;
};

} // namespace

std::unique_ptr<echo_peer> sim_world::start_echo() {
    const std::uint64_t number = ++nodes_total_;
    auto end = make({.name = "echo" + std::to_string(number)}, number);
    return std::make_unique<sim_echo>(net_, std::move(*end), id_of(number));
}

bool sim_world::wait_for(const std::function<bool()>& condition) {
    const time_point limit = events_.now() + 600s;
    while (!condition())
        if (events_.now() > limit || !events_.run_next())
            return condition();
    return true;
}

void sim_world::settle() {
    events_.run_for(5s);
}

result<std::unique_ptr<endpoint>> node_world::make(const node_settings& settings,
                                                   std::uint64_t number) {
    endpoint_options options;
    options.identity = test::numbered_identity(number);
    options.self.role = settings.role;
    options.self.name = settings.name;
    options.self.address = settings.address.empty() ? "127.0.0.1:0" : settings.address;
    options.keys = settings.ring != nullptr
                       ? settings.ring
                       : std::make_shared<key_ring>(cluster_keys{settings.key});
    options.links.pool = &pool;
    options.links.time = &time_;
    options.transports = transports_;
    options.seals = seals_;
    options.keys_live = {.records = 100, .time = std::chrono::hours{1}}; // several in a test
    options.bounds = settings.bounds;
    options.handshake_timeout = settings.handshake_timeout;
    options.handshakes_max = settings.handshakes_max;
    options.spin = settings.spin;
    options.yield_max = std::max(options.yield_max, settings.spin); // no other back-off
    options.links.busy_rounds = settings.busy_rounds;
    options.log = settings.log;
    options.connect_timeout = 20s; // of a machine that may be busy with other things
    options.links.drain_timeout = 2s;
    return make_node_endpoint(std::move(options));
}

std::unique_ptr<echo_peer> node_world::start_echo() {
    return std::make_unique<process_echo>(transports_, seals_);
}

bool node_world::wait_for(const std::function<bool()>& condition) {
    const time_point limit = time_.now() + 30s;
    while (!condition()) {
        if (time_.now() > limit)
            return false;
        std::this_thread::sleep_for(
            200us); // the other side is a process: there is no time to inject
    }
    return true;
}

// Others have processes, sockets and threads of their own: there is no time to inject. Waiting longer can only show more.
void node_world::settle() {
    std::this_thread::sleep_for(100ms);
}

// --- frames

namespace {

std::byte pattern(std::uint64_t number, std::size_t at) {
    std::uint64_t state = number * 1000003 + at / 4096;
    return static_cast<std::byte>(split_mix(state));
}

} // namespace

frame_ptr numbered_frame(memory_pool& pool, std::uint64_t number, std::vector<std::size_t> tensors,
                         std::size_t text) {
    frame_builder<proto::Rejected> b;
    b.body().setSequence(number);
    if (text > 0)
        b.body().setReason(std::string(text, static_cast<char>('a' + number % 26)));
    for (const std::size_t size : tensors) {
        tensor t = tensor::allocate(pool, data_type::uint8, {size}).value();
        for (std::size_t at = 0; at < size; at += 4096)
            std::memset(t.mutable_data() + at, static_cast<int>(pattern(number, at)),
                        std::min<std::size_t>(4096, size - at));
        b.attach(std::move(t));
    }
    return std::move(b).finish();
}

bool is_numbered(const frame& f, std::uint64_t number, const std::vector<std::size_t>& tensors,
                 std::size_t text) {
    if (f.body_type() != type_id_of<proto::Rejected>() || f.tensors().size() != tensors.size())
        return false;
    const auto body = f.body<proto::Rejected>();
    if (body.getSequence() != number || body.getReason().size() != text)
        return false;
    std::array<std::byte, 4096> expected;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const tensor& t = f.tensors()[i];
        if (t.bytes() != tensors[i])
            return false;
        for (std::size_t at = 0; at < tensors[i]; at += 4096) {
            expected.fill(pattern(number, at));
            if (std::memcmp(t.data() + at, expected.data(),
                            std::min<std::size_t>(4096, tensors[i] - at)) != 0)
                return false;
        }
    }
    return true;
}

} // namespace troupe::conformance
