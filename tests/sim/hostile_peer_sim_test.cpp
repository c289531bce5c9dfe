// What a peer that means harm can do to a run and to a node: little.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/messages.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"
#include "schemas/pipeline.capnp.h"
#include "schemas/training.capnp.h"
#include "tests/sim/pipeline_checks.hpp"
#include "tests/support/spawn_answer.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

// Stands where an agent would and is the stage that it spawns itself. Refuses that, or what a neighbour sends, with many
// words that would clear a terminal.
class refusing_agent final : public actor {
  public:
    refusing_agent(actor_context& context, bool places) : actor{context}, places_{places} {
        on<proto::Spawn>(&refusing_agent::spawn);
        on<proto::ConnectStage>(&refusing_agent::connect);
        on<proto::Activation>(&refusing_agent::take);
        on<proto::EpochBegin>(&refusing_agent::ignore<proto::EpochBegin>);
        on<proto::Labels>(&refusing_agent::ignore<proto::Labels>);
        on<proto::Release>(&refusing_agent::ignore<proto::Release>);
    }

  private:
    void spawn(proto::Spawn::Reader body, const frame& f) {
        if (!places_)
            return refuse(f);
        stage_ = body.getOptions().getAs<proto::StageOptions>().getPart().getStage();
        send(f.from(), spawned_at(body, self()));
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

// Stands for an agent and its only stage, which trains nothing, and then gives a snapshot of so many counts of updates.
class idle_agent final : public actor {
  public:
    idle_agent(actor_context& context, unsigned counts) : actor{context}, counts_{counts} {
        on<proto::Spawn>(&idle_agent::spawn);
        on<proto::ConnectStage>(&idle_agent::connect);
        on<proto::EndOfData>(&idle_agent::end_epoch);
        on<proto::EndOfEvaluation>(&idle_agent::end_evaluation);
        on<proto::TakeSnapshot>(&idle_agent::snapshot);
        on<proto::EpochBegin>(&idle_agent::ignore<proto::EpochBegin>);
        on<proto::Activation>(&idle_agent::ignore<proto::Activation>);
        on<proto::Labels>(&idle_agent::ignore<proto::Labels>);
        on<proto::EvaluationBatch>(&idle_agent::ignore<proto::EvaluationBatch>);
        on<proto::EvaluationLabels>(&idle_agent::ignore<proto::EvaluationLabels>);
        on<proto::Release>(&idle_agent::ignore<proto::Release>);
    }

  private:
    void spawn(proto::Spawn::Reader body, const frame& f) {
        trainer_ = f.from();
        send(trainer_, spawned_at(body, self()));
    }
    void connect(proto::ConnectStage::Reader, const frame&) {
        send(trainer_, frame_builder<proto::StageReady>{});
    }
    void end_epoch(proto::EndOfData::Reader body, const frame&) {
        frame_builder<proto::StageEpochDone> done;
        done.body().setMinibatches(body.getMinibatches());
        send(trainer_, std::move(done));
    }
    void end_evaluation(proto::EndOfEvaluation::Reader, const frame&) {
        frame_builder<proto::EvaluationDone> done;
        done.body().setSamples(20);
        send(trainer_, std::move(done));
    }
    void snapshot(proto::TakeSnapshot::Reader, const frame&) {
        frame_builder<proto::Snapshot> answer;
        answer.body().initUpdates(counts_);
        send(trainer_, std::move(answer));
    }
    template <class Body>
    void ignore(typename Body::Reader, const frame&) {}

    const unsigned counts_;
    actor_address trainer_;
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
    const std::string& sentence = failure_of(run).message();
    BOOST_TEST(sentence.substr(0, 200).find(std::string{refused.by} + ": no\\x1b[2J\\x07") !=
                   std::string::npos,
               sentence.substr(0, 200));
    BOOST_TEST(is_printable_name(sentence, limits::reason_bytes_max + 200));
}

BOOST_DATA_TEST_CASE(a_snapshot_without_a_count_of_updates_for_each_parameter_ends_the_run,
                     bdata::make({0u, 5u, 7u}), counts) {
    std::string text = pipeline_app("pipedream", {6}, 1);
    const std::string samples = "train_samples: 70";
    text.replace(text.find(samples), samples.size(), "train_samples: 8");
    const temporary_folder folder;
    pipeline_sim run{{.nodes = 1, .app = text, .last_agent = [&](node_runtime& node) {
                          node.spawn_as<idle_agent>(well_known::agent, "agent", counts);
                      }}};
    run.train(folder.path(), std::chrono::minutes{5});
    BOOST_TEST(failure_of(run).message() ==
               "saving a checkpoint: a snapshot does not fit the model: there are " +
                   std::to_string(counts) + " counts of updates, this stage has 6 parameters");
    BOOST_TEST(list_checkpoints(folder.path())->empty());
}

BOOST_AUTO_TEST_SUITE_END()
