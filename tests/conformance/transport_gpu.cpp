// Tensors that UCX reads and writes in memory of a GPU, where it is built with CUDA and finds the emulated driver:
// nobody but the driver reaches that memory. tests/e2e/test_gpu_direct.py runs this, and says what it needs.
#define BOOST_TEST_MODULE gpu_transport
#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "tests/conformance/transport_world.hpp"
#include "tests/emulated_cuda/driver_memory.hpp"
#include "transport/frame/wire.hpp"

using namespace troupe;
using namespace troupe::conformance;
using emulated::driver;
using ucx_worlds = boost::mpl::list<ucx_shm_world, ucx_tcp_world>;

namespace {

driver::address address_of(const void* p) {
    return reinterpret_cast<driver::address>(p);
}

class gpu_source final : public memory_source {
  public:
    std::byte* take(std::size_t bytes) override {
        driver::address made = 0;
        return driver::get()->take(&made, bytes) == 0 ? reinterpret_cast<std::byte*>(made)
                                                      : nullptr;
    }
    void give_back(std::byte* memory, std::size_t) override {
        driver::get()->give_back(address_of(memory));
    }
};

memory_pool gpu_pool(std::uint64_t bytes_max) {
    return {bytes_max, std::make_unique<gpu_source>(), memory_kind::device};
}

memory_pool host{256u << 20};

constexpr actor_address stage{node_id{2}, actor_number{7}};

// To the stage: a number, and tensors of these sizes whose bytes follow from it. On a GPU if there is a pool of one.
frame_ptr numbered(std::uint64_t number, const std::vector<std::size_t>& sizes,
                   memory_pool* gpu = nullptr) {
    const frame_ptr made = numbered_frame(host, number, sizes);
    frame_builder<proto::Rejected> b;
    b.body().setSequence(number);
    b.envelope().initTo().setNode(stage.node.value());
    b.envelope().getTo().setActor(stage.actor.value());
    std::uint64_t bytes = 0;
    for (const std::size_t size : sizes)
        bytes += wire::aligned(size);
    const buffer_ref buffer = (gpu != nullptr ? *gpu : host).allocate(bytes).value();
    std::uint64_t at = 0;
    for (const tensor& t : made->tensors()) {
        tensor there{t.type(), t.shape(), buffer, at};
        driver::get()->copy(address_of(there.data()), address_of(t.data()), t.bytes());
        at += wire::aligned(t.bytes());
        b.attach(std::move(there));
    }
    return std::move(b).finish();
}

bool is_here(const frame& f, std::uint64_t number, const std::vector<std::size_t>& sizes) {
    frame_builder<proto::Rejected> b;
    b.body().setSequence(f.body<proto::Rejected>().getSequence());
    for (const tensor& t : f.tensors()) {
        tensor copy = tensor::allocate(host, t.type(), t.shape()).value();
        driver::get()->copy(address_of(copy.data()), address_of(t.data()), t.bytes());
        b.attach(std::move(copy));
    }
    return is_numbered(*std::move(b).finish(), number, sizes);
}

// Two nodes that take memory of GPUs: what comes to `b` for the stage goes into `received`, unless nothing is to.
template <class World>
struct gpu_nodes {
    memory_pool sent = gpu_pool(64u << 20);
    memory_pool received;
    World world;
    node a, b;

    explicit gpu_nodes(std::uint64_t received_max = 64u << 20, bool receives = true)
        : received{gpu_pool(received_max)}, a{world.add_with({.name = "a", .gpu = uses(nullptr)})},
          b{world.add_with({.name = "b", .gpu = uses(receives ? &received : nullptr)})} {
        world.join(a, b);
    }

    static ucx_gpu_memory uses(memory_pool* pool) {
        return {[] { driver::get()->make_current(driver::get()->context); }, [] {},
                [pool](actor_address to, std::uint64_t body_type) {
                    const bool is_expected =
                        to == stage && body_type == type_id_of<proto::Rejected>();
                    return is_expected ? pool : nullptr;
                }};
    }

    frame_ptr pass(const frame_ptr& f) {
        b.heard->forget_frames();
        BOOST_TEST((a.end->send(b.id, f) == send_status::accepted));
        BOOST_TEST_REQUIRE(world.wait_for([&] { return b.heard->frame_count() == 1; }));
        return b.heard->frames()[0].second;
    }
};

bool is_on_host(const frame& f) {
    return std::ranges::all_of(f.tensors(), &tensor::is_host);
}

} // namespace

BOOST_AUTO_TEST_SUITE(memory_of_gpus)

BOOST_AUTO_TEST_CASE_TEMPLATE(goes_into_memory_of_another_gpu_without_the_host, World, ucx_worlds) {
    gpu_nodes<World> n;
    std::uint64_t number = 0;
    for (const std::vector<std::size_t>& sizes : {std::vector<std::size_t>{8192},
                                                  {1u << 20},
                                                  {16u << 20},
                                                  {5000, 1, 70000, 0, 64, 3u << 20}}) {
        const frame_ptr f = n.pass(numbered(++number, sizes, &n.sent));
        BOOST_TEST(!is_on_host(*f));
        BOOST_TEST(is_here(*f, number, sizes));
    }
    // Its memory goes back when nobody holds the frame any more.
    n.b.heard->forget_frames();
    BOOST_TEST(n.world.wait_for([&] {
        return n.sent.statistics().bytes_in_use + n.received.statistics().bytes_in_use == 0;
    }));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(goes_from_the_host_to_a_gpu_and_back, World, ucx_worlds) {
    gpu_nodes<World> to_gpu;
    const frame_ptr there = to_gpu.pass(numbered(1, {16u << 20}));
    BOOST_TEST(!is_on_host(*there));
    BOOST_TEST(is_here(*there, 1, {16u << 20}));
    gpu_nodes<World> to_host{64u << 20, false};
    const frame_ptr f = to_host.pass(numbered(2, {16u << 20}, &to_host.sent));
    BOOST_TEST(is_on_host(*f));
    BOOST_TEST(is_here(*f, 2, {16u << 20}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(that_is_small_passes_by_the_host, World, ucx_worlds) {
    gpu_nodes<World> n;
    const frame_ptr f = n.pass(numbered(1, {4, 100}, &n.sent));
    BOOST_TEST(is_on_host(*f));
    BOOST_TEST(is_here(*f, 1, {4, 100}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(is_not_used_with_who_takes_none, World, ucx_worlds) {
    gpu_nodes<World> n;
    node plain = n.world.add("plain");
    n.world.join(plain, n.b);
    BOOST_TEST((plain.end->send(n.b.id, numbered(1, {16u << 20})) == send_status::accepted));
    BOOST_TEST_REQUIRE(n.world.wait_for([&] { return n.b.heard->frame_count() == 1; }));
    const frame_ptr f = n.b.heard->frames()[0].second;
    BOOST_TEST(is_on_host(*f));
    BOOST_TEST(is_here(*f, 1, {16u << 20}));
    for (const peer_info& peer : n.b.heard->ups())
        BOOST_TEST(peer.takes_gpu_memory == (peer.name == "a"));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(of_which_none_is_left_leaves_frames_to_the_host, World, ucx_worlds) {
    gpu_nodes<World> n{2u << 20};
    const frame_ptr first = n.pass(numbered(1, {1u << 20}, &n.sent));
    BOOST_TEST(!is_on_host(*first));
    const frame_ptr second = n.pass(numbered(2, {1u << 20, 1u << 19}, &n.sent));
    BOOST_TEST(is_on_host(*second));
    BOOST_TEST(is_here(*first, 1, {1u << 20}));
    BOOST_TEST(is_here(*second, 2, {1u << 20, 1u << 19}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(comes_in_order_among_frames_of_the_host, World, ucx_worlds) {
    gpu_nodes<World> n;
    const std::vector<std::vector<std::size_t>> sizes{{1u << 20}, {}, {100}, {300000, 5}};
    for (std::uint64_t number = 0; number < 200; ++number) {
        const auto& some = sizes[number % sizes.size()];
        n.a.end->send(n.b.id,
                      numbered(number, some, number % 3 == 0 && !some.empty() ? &n.sent : nullptr));
        BOOST_TEST_REQUIRE(n.world.wait_for([&] { return n.b.heard->frame_count() + 8 > number; }));
    }
    BOOST_TEST_REQUIRE(n.world.wait_for([&] { return n.b.heard->frame_count() == 200; }));
    BOOST_TEST(n.received.statistics().allocations_total > 0);
    const auto frames = n.b.heard->frames();
    for (std::uint64_t number = 0; number < 200; ++number)
        BOOST_TEST(is_here(*frames[number].second, number, sizes[number % sizes.size()]));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(under_way_to_who_dies_is_given_back, World, ucx_worlds) {
    memory_pool sent = gpu_pool(256u << 20);
    World w;
    node a = w.add_with({.name = "a", .gpu = gpu_nodes<World>::uses(nullptr)});
    const auto echo = w.start_echo();
    const node_id there = w.join(a, *echo);
    echo->stop();
    for (std::uint64_t number = 0; number < 4; ++number)
        BOOST_TEST((a.end->send(there, numbered(number, {16u << 20}, &sent)) != send_status::gone));
    BOOST_TEST(sent.statistics().bytes_in_use > 0);
    echo->kill();
    BOOST_TEST(w.wait_for([&] { return a.heard->downs().size() == 1; }));
    BOOST_TEST(w.wait_for([&] { return sent.statistics().bytes_in_use == 0; }));
}

BOOST_AUTO_TEST_SUITE_END()
