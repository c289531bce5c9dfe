// What a peer that means harm can do to a run and to a node: little.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "actors/messages.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"
#include "schemas/pipeline.capnp.h"
#include "tests/sim/pipeline_sim.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

// Stands where an agent would and is the stage that it places itself. Refuses that, or what a neighbour sends, with many
// words that would clear a terminal.
class refusing_agent final : public actor {
  public:
    refusing_agent(actor_context& context, bool places) : actor{context}, places_{places} {
        on<proto::PlaceStage>(&refusing_agent::place);
        on<proto::ConnectStage>(&refusing_agent::connect);
        on<proto::Activation>(&refusing_agent::take);
        on<proto::EpochBegin>(&refusing_agent::ignore<proto::EpochBegin>);
        on<proto::Labels>(&refusing_agent::ignore<proto::Labels>);
        on<proto::Release>(&refusing_agent::ignore<proto::Release>);
    }

  private:
    void place(proto::PlaceStage::Reader body, const frame& f) {
        if (!places_)
            return refuse(f);
        stage_ = body.getStage();
        frame_builder<proto::StagePlaced> placed;
        placed.body().setRun(body.getRun());
        placed.body().setStage(stage_);
        write_address(placed.body().initAddress(), self());
        send(f.from(), std::move(placed));
    }
    void connect(proto::ConnectStage::Reader, const frame& f) {
        frame_builder<proto::StageReady> ready;
        ready.body().setStage(stage_);
        send(f.from(), std::move(ready));
    }
    void take(proto::Activation::Reader, const frame& f) { refuse(f); }
    void refuse(const frame& f) {
        frame_builder<proto::Rejected> answer;
        answer.body().setReason("no\x1b[2J" + std::string(1'000'000, '\a'));
        send(f.from(), std::move(answer));
    }
    template <class Body>
    void ignore(typename Body::Reader, const frame&) {}

    const bool places_;
    std::uint32_t stage_ = 0;
};

struct refused_run {
    const char* by; // the start of the sentence
    bool places;
    std::vector<std::size_t> layers;

    friend std::ostream& operator<<(std::ostream& out, const refused_run& r) { return out << r.by; }
};

const refused_run refused_runs[] = {
    {"a message was refused", false, {6}},
    {"data source: a stage refused a message", true, {6}},
    {"a neighbour refused a message", true, {3, 3}},
};

} // namespace

BOOST_AUTO_TEST_SUITE(hostile_peers)

BOOST_DATA_TEST_CASE(a_refusal_ends_a_run_with_a_sentence_that_can_be_printed,
                     bdata::make(refused_runs), refused) {
    pipeline_sim run{{.nodes = refused.layers.size(),
                      .app = pipeline_app("pipedream", refused.layers, 1),
                      .last_agent = [&](node_runtime& node) {
                          node.spawn_as<refusing_agent>(well_known::agent, "agent", refused.places);
                      }}};
    run.train({}, std::chrono::minutes{5});
    BOOST_REQUIRE(run.observer().report.has_value());
    BOOST_REQUIRE(run.observer().report->failure.has_value());
    const std::string& sentence = run.observer().report->failure->message();
    BOOST_TEST(sentence.substr(0, 200).find(std::string{refused.by} + ": no\\x1b[2J\\x07") !=
                   std::string::npos,
               sentence.substr(0, 200));
    BOOST_TEST(is_printable_name(sentence, limits::reason_bytes_max + 200));
}

BOOST_AUTO_TEST_SUITE_END()
