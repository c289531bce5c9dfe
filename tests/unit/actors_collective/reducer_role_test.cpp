// What the role of a reducer takes, and which of its actors that is.
#include <boost/test/unit_test.hpp>

#include "actors/training/roles/reducer_role.hpp"
#include "schemas/collective.capnp.h"
#include "tests/support/role_stage.hpp"

using namespace troupe;
using namespace troupe::test;
using options = proto::ReducerOptions::Builder;

BOOST_AUTO_TEST_SUITE(reducer_roles)

BOOST_AUTO_TEST_CASE(it_carries_the_number_of_its_stage_and_replica) {
    for (const char* sync :
         {"all_reduce", "local_sgd", "{all_reduce: {}, codec: int8}",
          "{all_reduce: {}, codec: bf16}", "{all_reduce: {}, codec: top_k}",
          "{all_reduce: {}, codec: power_sgd}", "{all_reduce: {}, codec: sufficient_factors}"}) {
        role_stage on{"replicas: 3, sync: " + std::string{sync} + ", "};
        BOOST_TEST_CONTEXT(sync) {
            const auto of_third = [](options o) {
                o.getPart().setStage(4);
                o.getPart().setReplica(2);
            };
            BOOST_TEST(on.spawned<proto::ReducerOptions>(reducer_role(), of_third) ==
                       "reducer-4.2");
        }
    }
}

BOOST_AUTO_TEST_CASE(there_is_none_where_nothing_is_summed) {
    const auto refused = [](
                             const std::string& topology,
                             const std::function<void(options)>& change = [](options) {}) {
        role_stage on{topology};
        return on.refusal<proto::ReducerOptions>(reducer_role(), change);
    };
    const std::string sentence = "no reducer stands beside stage 0, as its replicas agree";
    BOOST_TEST(refused("") == sentence);
    BOOST_TEST(refused("replicas: 2, sync: gossip, ") == sentence);
    BOOST_TEST(refused("replicas: 2, sync: {parameter_server: {consistency: bsp}}, ") == sentence);
    BOOST_TEST(refused("replicas: 2, sync: all_reduce, ", [](options o) {
                   o.getPart().setFirstLayer(1); // a relu has no parameters
                   o.getPart().setLayers(1);
               }) == sentence);
    BOOST_TEST(refused("replicas: 2, sync: all_reduce, ") == "");
}

namespace {

// As a GPU's, without one.
class far_device final : public device {
  public:
    void submit(device_task) override {}
    memory_pool& memory() noexcept override { return memory_; }
    const std::string& name() const noexcept override { return name_; }

  private:
    class far_memory final : public memory_source {
      public:
        std::byte* take(std::size_t) override { return nullptr; }
        void give_back(std::byte*, std::size_t) override {}
    };
    const std::string name_ = "cuda:0";
    memory_pool memory_{1u << 20, std::make_unique<far_memory>(), memory_kind::device};
};

} // namespace

BOOST_AUTO_TEST_CASE(on_a_gpu_it_needs_the_nodes_worker) {
    role_stage on{"replicas: 2, sync: all_reduce, "};
    capnp::MallocMessageBuilder message;
    auto any = message.getRoot<capnp::AnyPointer>();
    write_part(any.initAs<proto::ReducerOptions>().initPart(), on.app.app());
    role_resources resources = on.resources();
    resources.compute = std::make_shared<far_device>();
    BOOST_TEST(
        reducer_role().prepare(any.asReader(), resources).failure().message() ==
        "node a has no background thread, without which device 'cuda:0' cannot send gradients or "
        "weights");
    resources.io = on.shared_device();
    BOOST_TEST(reducer_role().prepare(any.asReader(), resources).ok());
}

BOOST_AUTO_TEST_SUITE_END()
