#include "tests/sim/loss_sim.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <utility>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/well_known.hpp"
#include "schemas/cluster.capnp.h"
#include "schemas/run.capnp.h"

namespace troupe::test {

namespace {

class announcer final : public actor {
  public:
    explicit announcer(actor_context& context) : actor{context} {
        on<proto::Subscribe>(&announcer::subscribe);
        on<proto::NodeJoined>(&announcer::pass_on);
    }

  private:
    void subscribe(proto::Subscribe::Reader, const frame& f) { subscriber_ = f.from(); }
    void pass_on(proto::NodeJoined::Reader body, const frame&) {
        frame_builder<proto::NodeJoined> news;
        news.body().setMember(body.getMember());
        send(subscriber_, std::move(news));
    }

    actor_address subscriber_;
};

} // namespace

void spawn_announcer(pipeline_sim& run) {
    run.run_node().spawn_as<announcer>(well_known::cluster, "cluster");
}

void announce(pipeline_sim& run, std::size_t node, const char* device) {
    frame_builder<proto::NodeJoined> news;
    auto member = news.body().initMember();
    member.setNode(run.node(node).node().value());
    member.setName("node-" + std::to_string(node));
    member.initDevices(1)[0].setName(device);
    run.run_node().send({run.run_node().node(), well_known::cluster}, std::move(news));
}

void kill(pipeline_sim& run, std::size_t node) {
    run.sim().kill(run.node(node));
    run.sim().run_for(std::chrono::milliseconds{100});
    const actor_address dead{run.node(node).node(), well_known::agent};
    for (node_runtime* const other : run.all_nodes())
        if (other->node() != dead.node)
            other->send(dead, frame_builder<proto::Release>{});
}

void run_until_over(pipeline_sim& run) {
    run.sim().run_until([&] { return run.observer().report.has_value(); }, std::chrono::minutes{9});
    std::string known = std::to_string(run.observer().epochs.size()) + " epochs, " +
                        std::to_string(run.observer().progress.samples_done) + " samples";
    for (const std::string& note : run.observer().notes)
        known += "; " + note;
    BOOST_REQUIRE_MESSAGE(run.observer().report.has_value(), known);
}

void check_loss(std::uint64_t seed, bool is_pipeline, const std::string& sync,
                const std::function<void(pipeline_sim&)>& afterwards) {
    const temporary_folder folder;
    pipeline_sim run{{.seed = seed + 1,
                      .faults = storm,
                      .nodes = is_pipeline ? 6u : 3u,
                      .app = text_of({.layers = is_pipeline ? std::vector<std::size_t>{2, 4}
                                                            : std::vector<std::size_t>{6},
                                      .replicas = 3,
                                      .sync = sync,
                                      .samples = 400,
                                      .optimizer = "sgd: {learning_rate: 0.02}"})}};
    run.start(folder.path());
    run.sim().run_until(
        [&] {
            return run.observer().progress.samples_done + 400 * run.observer().progress.epoch >=
                   8 + seed % 60 * 12;
        },
        std::chrono::minutes{5});
    kill(run, is_pipeline ? (seed % 2 ? 2 : 5) : 1 + seed % 2);
    run_until_over(run);
    const run_report& report = good_report(run);
    BOOST_TEST(report.epochs.size() == 2u);
    BOOST_REQUIRE(run.observer().notes.size() == 1u);
    const std::string& note = run.observer().notes[0];
    BOOST_TEST(note.find("it carried stage 0 of replica") != std::string::npos, note);
    BOOST_TEST(note.find("the run goes on with 2 of 3 replicas") != std::string::npos, note);
    BOOST_TEST(saved_in(folder.path()).size() > 0u);
    afterwards(run);
}

} // namespace troupe::test
