// What replicas and a parameter server send each other, counted in the messages of a run: as many bytes as the plan says.
#include <boost/test/unit_test.hpp>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "actors/training/plan/plan.hpp"
#include "schemas/params.capnp.h"
#include "tests/sim/server_sim.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

const std::vector<tensor_shape> parameters{{8, 16}, {8}, {3, 8}, {3}};

// Of less than a thousand bytes, of which the plan's text leaves out nothing.
std::string traffic_app(const std::string& replicas_and_sync) {
    return "troupe: 1\n"
           "data: {synthetic: {train_samples: 64, test_samples: 8, classes: 3}}\n"
           "model:\n"
           "  input: [1, 1, 16]\n"
           "  layers: [linear: {out: 8}, relu, linear: {out: 3}]\n"
           "  loss: cross_entropy\n"
           "train: {batch: 8, seed: 5, epochs: 2, optimizer: {sgd: {learning_rate: 0.05}}}\n"
           "topology: {" +
           replicas_and_sync + "}\n";
}

struct message_count {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0; // of their tensors
};

// Messages of this type, each with tensors of these shapes.
template <class Body>
message_count count_messages(pipeline_sim& run, std::size_t nodes,
                             const std::vector<tensor_shape>& shapes) {
    memory_pool pool{1u << 20};
    frame_builder<Body> like;
    for (const tensor_shape& shape : shapes)
        like.attach(tensor::allocate(pool, data_type::float32, shape).value());
    const frame_ptr one = std::move(like).finish();
    const std::uint64_t words = one->bytes() - one->tensor_bytes();
    message_count count;
    for (std::size_t n = 0; n < nodes; ++n) {
        const trace_batch all = run.node(n).trace().read(0, 1u << 14);
        BOOST_REQUIRE(all.lost == 0u);
        for (const trace_event& e : all.events)
            if (e.kind == trace_kind::message && e.type == type_id_of<Body>()) {
                ++count.messages;
                count.bytes += e.bytes - words;
            }
    }
    return count;
}

struct planned_bytes {
    std::uint64_t push = 0, pulled = 0;
};
// By "Push [at most] 652 B per ...; Pulled 326 B back", or "of the same size back".
planned_bytes planned(const plan& p) {
    const std::string text = describe(p);
    const auto bytes_behind = [&text](std::string_view words, std::string_view unit) {
        std::optional<std::uint64_t> bytes;
        if (const std::size_t at = text.find(words); at != std::string::npos) {
            const char* const end = text.data() + text.size();
            const auto read = std::from_chars(&text[at + words.size()], end, bytes.emplace());
            if (read.ec != std::errc{} || !std::string_view{read.ptr, end}.starts_with(unit))
                bytes.reset();
        }
        return bytes;
    };
    auto push = bytes_behind(": Push ", " B per ");
    if (!push)
        push = bytes_behind(": Push at most ", " B per ");
    auto pulled = bytes_behind("; Pulled ", " B back");
    if (!pulled && text.find("; Pulled of the same size back") != std::string::npos)
        pulled = push;
    BOOST_REQUIRE_MESSAGE(push && pulled, text);
    return {*push, *pulled};
}

// `pushes`, `pulls`: of all workers of the server in a run of 16 minibatches. The bytes of an answer to a pull.
std::uint64_t check_traffic(const std::string& replicas_and_sync, std::size_t devices_of_node,
                            std::uint64_t pushes, std::uint64_t pulls) {
    std::uint64_t answered = 0;
    BOOST_TEST_CONTEXT(replicas_and_sync) {
        constexpr std::size_t nodes = 2;
        pipeline_sim run{{.seed = 3,
                          .faults = storm,
                          .nodes = nodes,
                          .devices_of_node = devices_of_node,
                          .app = traffic_app(replicas_and_sync)}};
        run.train({});
        good_report(run);
        const planned_bytes expected = planned(run.planned());
        const bool is_compressed = replicas_and_sync.find("codec") != std::string::npos;
        const bool is_rounded = replicas_and_sync.find("pulls") != std::string::npos;
        const auto pushed = count_messages<proto::Push>(
            run, nodes, is_compressed ? std::vector<tensor_shape>(4, {1}) : parameters);
        const auto pulled = count_messages<proto::Pulled>(
            run, nodes, is_rounded ? std::vector<tensor_shape>(4, {1}) : parameters);
        BOOST_TEST(pushed.messages == pushes);
        BOOST_TEST(pulled.messages == pulls);
        BOOST_TEST(pushed.bytes == pushes * expected.push);
        BOOST_TEST(pulled.bytes == pulls * expected.pulled);
        answered = expected.pulled;
    }
    return answered;
}

} // namespace

BOOST_AUTO_TEST_SUITE(traffic_of_parameter_servers)

BOOST_AUTO_TEST_CASE(pushes_and_pulls_have_the_bytes_that_the_plan_says) {
    const auto sync = [](std::uint32_t replicas, const std::string& consistency,
                         const std::string& more) {
        return "replicas: " + std::to_string(replicas) +
               ", sync: {parameter_server: {consistency: " + consistency + ", shards: 1" + more +
               "}";
    };
    // Each replica of two pulls at the beginning of each epoch, and after each push.
    check_traffic(sync(2, "bsp", "") + "}", 1, 16, 2 * 2 + 16);
    check_traffic(sync(2, "{ssp: {staleness: 1}}", "") + "}", 1, 16, 2 * 2 + 16);
    // For two replicas a node pushes and pulls once.
    check_traffic(sync(4, "bsp", ", node_servers: true") + "}", 2, 8, 2 * 2 + 8);
    // Of 8 x 16, 8, 3 x 8 and 3 weights.
    for (const auto& [form, bytes] : {std::pair{"bf16", 2u * 163}, {"int8", 163 + 4u * 4}}) {
        const std::string pulls = std::string{", pulls: "} + form;
        BOOST_TEST(check_traffic(sync(2, "bsp", pulls) + "}", 1, 16, 2 * 2 + 16) == bytes);
        BOOST_TEST(check_traffic(sync(4, "bsp", ", node_servers: true" + pulls) + ", codec: bf16}",
                                 2, 8, 2 * 2 + 8) == bytes);
    }
    for (const char* codec :
         {"bf16", "f16", "int8", "one_bit", "{top_k: {ratio: 0.1}}",
          "{top_k: {ratio: 0.1, values: f16}}", "{top_k: {values: int8}}",
          "{top_k: {ratio: 0.5, values: int4}}", "tern_grad", "qsgd", "{power_sgd: {rank: 1}}"}) {
        check_traffic(sync(2, "bsp", "") + ", codec: " + codec + "}", 1, 16, 2 * 2 + 16);
        check_traffic(sync(4, "bsp", ", node_servers: true") + ", codec: " + codec + "}", 2, 8,
                      2 * 2 + 8);
    }
}

BOOST_AUTO_TEST_SUITE_END()
