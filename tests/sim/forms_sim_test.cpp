// Activations and pulled weights in fewer bits, with the actors that ship: bit-equal to a sequential program with the same
// roundings, wherever stages are and whatever the network does.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstring>
#include <limits>

#include "actors/messages.hpp"
#include "actors/training/plan/plan.hpp"
#include "kernels/codec/number_form.hpp"
#include "schemas/base/quantities.hpp"
#include "schemas/pipeline.capnp.h"
#include "schemas/training.capnp.h"
#include "tests/sim/server_sim.hpp"
#include "tests/support/spawn_answer.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

const std::vector<std::string> forms{"bf16", "int8"};

number_form_ptr form_of(const std::string& name) {
    return make_number_form(name == "bf16" ? proto::NumberForm::BF16 : proto::NumberForm::INT8)
        .value();
}

std::string with_activations(std::string text, const std::string& form) {
    replace(text, "{pipeline: {", "{pipeline: {activations: " + form + ", ");
    return text;
}

struct sent_messages {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0; // of their tensors
};

// Of this type between two stages, those of the data source aside, each with one tensor of this shape.
template <class Body>
sent_messages sent_between_stages(pipeline_sim& run, data_type type, const tensor_shape& shape) {
    memory_pool pool{1u << 20};
    frame_builder<Body> like;
    like.attach(tensor::allocate(pool, type, shape).value());
    const frame_ptr one = std::move(like).finish();
    const std::uint64_t words = one->bytes() - one->tensor_bytes();
    sent_messages sent;
    for (std::size_t n = 0; n < 2; ++n) {
        const trace_batch all = run.node(n).trace().read(0, 1u << 14);
        BOOST_REQUIRE(all.lost == 0u);
        for (const trace_event& e : all.events)
            if (e.kind == trace_kind::message && e.type == type_id_of<Body>() &&
                e.from_node != run.run_node().node()) { // where the data source is
                ++sent.messages;
                sent.bytes += e.bytes - words;
            }
    }
    return sent;
}

} // namespace

BOOST_AUTO_TEST_SUITE(forms_in_the_simulator)

BOOST_DATA_TEST_CASE(activations_are_rounded_between_stages_and_nowhere_else,
                     bdata::xrange(2) * bdata::xrange(cuts().size()), f, cut) {
    for (const char* schedule : {"pipedream", "gpipe"})
        for (const sim_faults& faults : {calm, storm})
            check_app(with_activations(pipeline_app(schedule, cuts()[cut], 3), forms[f]),
                      cuts()[cut], faults, 3);
}

// Several values cross, some of which nothing before is trained for.
BOOST_AUTO_TEST_CASE(each_of_several_values_that_cross_is_rounded) {
    const std::string first = "    - conv2d: {out: 4, kernel: 3, padding: 1}\n";
    const std::string blocks =
        "    - concat: {branches: [{layers: [{conv2d: {out: 2, kernel: 3, padding: 1}}, gelu]},"
        " {layers: []}]}\n"
        "    - residual: {layers: [{recompute: {layers: [{conv2d: {out: 3, kernel: 1}}, "
        "relu]}}]}\n";
    for (const std::string& form : forms)
        for (const std::vector<std::size_t>& cut :
             {std::vector<std::size_t>{1, 9}, {2, 2, 6}, {4, 1, 5}}) {
            std::string text = with_activations(pipeline_app("pipedream", cut, 3), form);
            replace(text, first, blocks);
            check_app(text, cut, storm, 2);
        }
}

// As they are is what an app that says nothing gets.
BOOST_AUTO_TEST_CASE(a_form_of_f32_changes_no_bit_and_others_do) {
    const replicas_app app{.schedule = "pipedream", .layers = {3, 3}, .replicas = 1};
    const auto run = [&](const std::string& form) {
        const temporary_folder folder;
        pipeline_sim sim{{.faults = calm, .nodes = 2, .app = with_activations(text_of(app), form)}};
        sim.train(folder.path());
        good_report(sim);
        return saved_in(folder.path());
    };
    const auto plain = train(app);
    BOOST_TEST((run("f32") == plain.weights));
    BOOST_TEST((run("bf16") != plain.weights));
    BOOST_TEST(farthest(run("bf16"), plain.weights) < 0.05);
    BOOST_TEST((run("int8") != run("bf16")));
    BOOST_TEST(farthest(run("int8"), plain.weights) < 0.05);
}

BOOST_AUTO_TEST_CASE(where_stages_are_changes_no_number) {
    for (const std::string& form : forms) {
        const auto run = [&](std::size_t nodes, std::size_t devices) {
            const temporary_folder folder;
            pipeline_sim sim{
                {.faults = calm,
                 .nodes = nodes,
                 .devices_of_node = devices,
                 .app = with_activations(pipeline_app("pipedream", {1, 3, 2}, 2), form) +
                        "checkpoint: {directory: unused}\n"}};
            sim.train(folder.path());
            good_report(sim);
            return saved_in(folder.path());
        };
        const auto apart = run(3, 1);
        BOOST_TEST((run(1, 3) == apart));
        BOOST_TEST((run(1, 1) == apart)); // on one device
    }
}

BOOST_AUTO_TEST_CASE(stages_with_replicas_of_their_own_round_the_same) {
    for (const std::string& form : forms) {
        std::string text = with_activations(pipeline_app("pipedream", {3, 3}, 2), form);
        replace(text, "{layers: 3}", "{layers: 3, replicas: 2}");
        text += "checkpoint: {directory: unused}\n";
        const temporary_folder folder;
        pipeline_sim run{{.seed = 4, .faults = storm, .nodes = 3, .app = text}};
        run.train(folder.path());
        good_report(run);
        check_saved(run, folder.path(), {.layers = {3, 3}, .delayed = true, .replicas = {2, 1}});
    }
}

// Minibatches of 8 in microbatches of 3, 3 and 2: 36 numbers of each sample cross. Evaluation gets them as they are.
BOOST_AUTO_TEST_CASE(what_is_sent_has_the_bytes_that_the_plan_says) {
    const std::map<std::string, std::uint64_t> of_a_minibatch{
        {"f32", 4 * 36 * 8}, {"bf16", 2 * 36 * 8}, {"int8", 36 * 8 + 3 * 4}};
    for (const auto& [form, bytes] : of_a_minibatch) {
        std::string text = with_activations(pipeline_app("gpipe", {3, 3}, 1), form);
        replace(text, "train_samples: 70", "train_samples: 64");
        pipeline_sim run{{.seed = 3, .faults = storm, .nodes = 2, .app = text}};
        run.train({});
        good_report(run);
        const plan p = run.planned();
        BOOST_TEST(p.stages[0].traffic.activation_bytes == bytes);
        BOOST_TEST(p.stages[0].traffic.gradient_bytes == bytes);
        // Behind any layer; with a scale for each sample.
        BOOST_TEST(p.layers[2].crossing_bytes == 2 * (bytes + (form == "int8" ? (8 - 3) * 4 : 0)));
        BOOST_TEST(describe(p).find("Activation " + bytes_text(bytes) + " per minibatch" +
                                    (form == "f32" ? "" : " in " + form) +
                                    "; Gradient of the same size back") != std::string::npos,
                   describe(p));
        const bool is_rounded = form != "f32";
        const data_type type = is_rounded ? data_type::uint8 : data_type::float32;
        const tensor_shape shape = is_rounded ? tensor_shape{1} : tensor_shape{1, 4, 3, 3};
        const auto forward = sent_between_stages<proto::Activation>(run, type, shape);
        const auto back = sent_between_stages<proto::Gradient>(run, type, shape);
        BOOST_TEST(forward.messages == 8u * 3);
        BOOST_TEST(back.messages == 8u * 3);
        BOOST_TEST(forward.bytes == 8 * bytes);
        BOOST_TEST(back.bytes == 8 * bytes);
        const auto judged =
            sent_between_stages<proto::EvaluationBatch>(run, data_type::float32, {1, 4, 3, 3});
        BOOST_TEST(judged.bytes == 4u * 36 * 20); // of 20 test samples
    }
}

// ---- what a neighbour sends that means harm ---------------------------------------------------------------------------

namespace {

enum class lie { too_short, float_values, no_number };

// Stands where an agent would and is the stage that it spawns itself; sends its neighbour payloads of no sender.
class lying_stage final : public actor {
  public:
    lying_stage(actor_context& context, memory_pool& memory, lie what)
        : actor{context}, memory_{memory}, what_{what} {
        on<proto::Spawn>(&lying_stage::spawn);
        on<proto::ConnectStage>(&lying_stage::connect);
        on<proto::EpochBegin>(&lying_stage::begin);
        on<proto::Activation>(&lying_stage::answer);
        on<proto::Labels>(&lying_stage::ignore<proto::Labels>);
        on<proto::EndOfData>(&lying_stage::ignore<proto::EndOfData>);
        on<proto::Release>(&lying_stage::ignore<proto::Release>);
    }

  private:
    void spawn(proto::Spawn::Reader body, const frame& f) {
        stage_ = body.getOptions().getAs<proto::StageOptions>().getPart().getStage();
        send(f.from(), spawned_at(body, self()));
    }
    void connect(proto::ConnectStage::Reader body, const frame& f) {
        if (body.getNext().size() > 0)
            next_ = read_address(body.getNext()[0]);
        frame_builder<proto::StageReady> ready;
        ready.body().setStage(stage_);
        send(f.from(), std::move(ready));
    }
    // As the first stage.
    void begin(proto::EpochBegin::Reader body, const frame&) {
        if (!next_)
            return;
        frame_builder<proto::EpochBegin> onward;
        onward.body().setEpoch(body.getEpoch());
        onward.body().setMinibatches(body.getMinibatches());
        onward.body().setSamplesPerMinibatch(body.getSamplesPerMinibatch());
        onward.body().setSamplesInLast(body.getSamplesInLast());
        onward.body().setMicrobatches(body.getMicrobatches());
        send(next_, std::move(onward));
        frame_builder<proto::Activation> activation;
        activation.body().setWeightVersion(0);
        activation.attach(payload());
        send(next_, std::move(activation));
    }
    // As the last.
    void answer(proto::Activation::Reader body, const frame& f) {
        if (next_)
            return;
        frame_builder<proto::Gradient> gradient;
        gradient.body().setMinibatch(body.getMinibatch());
        gradient.body().setMicrobatch(body.getMicrobatch());
        gradient.body().setWeightVersion(body.getWeightVersion());
        gradient.attach(payload());
        send(f.from(), std::move(gradient));
    }
    // Of 8 samples of 4 x 3 x 3 numbers in int8: one bucket.
    tensor payload() {
        if (what_ == lie::float_values)
            return tensor::allocate(memory_, data_type::float32, {8, 4, 3, 3}).value();
        const std::size_t bytes = 4 + 8 * 36 - (what_ == lie::too_short ? 1 : 0);
        tensor t = tensor::allocate(memory_, data_type::uint8, {bytes}).value();
        std::memset(t.mutable_data(), 127, bytes);
        const float scale = std::numeric_limits<float>::quiet_NaN();
        std::memcpy(t.mutable_data(), &scale, sizeof scale);
        return t;
    }
    template <class Body>
    void ignore(typename Body::Reader, const frame&) {}

    memory_pool& memory_;
    const lie what_;
    std::uint32_t stage_ = 0;
    actor_address next_;
};

} // namespace

BOOST_DATA_TEST_CASE(payloads_of_no_sender_end_the_run_with_a_sentence,
                     bdata::xrange(2) * bdata::xrange(3), stage, what) {
    const std::map<lie, std::string> sentences{
        {lie::too_short, "a payload of uint8 [291] is none of a tensor of [8, 4, 3, 3]"},
        {lie::float_values,
         "a payload of float32 [8, 4, 3, 3] is none of a tensor of [8, 4, 3, 3]"},
        {lie::no_number,
         "numbers of a tensor of [8, 4, 3, 3] are not finite, or too large for int8"}};
    memory_pool memory{1u << 20}; // outlives the frames
    std::string text = with_activations(pipeline_app("pipedream", {3, 3}, 1), "int8");
    replace(text, "[{layers: 3}, {layers: 3}]",
            stage == 0 ? "[{layers: 3, device: node-1/sim:0}, {layers: 3}]"
                       : "[{layers: 3}, {layers: 3, device: node-1/sim:0}]");
    pipeline_sim run{{.faults = calm, .app = text, .last_agent = [&](node_runtime& node) {
                          node.spawn_as<lying_stage>(well_known::agent, "agent", memory,
                                                     static_cast<lie>(what));
                      }}};
    run.train({}, std::chrono::minutes{5});
    const error& failure = failure_of(run);
    BOOST_TEST(failure.message().find((stage == 0 ? "activation" : "gradient") +
                                      std::string{" of minibatch 0 microbatch 0: "} +
                                      sentences.at(static_cast<lie>(what))) != std::string::npos,
               failure.message());
    BOOST_TEST((failure.code() ==
                (static_cast<lie>(what) == lie::no_number ? errc::numeric : errc::protocol)));
}

// ---- weights that are pulled ------------------------------------------------------------------------------------------

// One device with two microbatches, which computes with rounded weights and updates those that it has rounded.
BOOST_DATA_TEST_CASE(bulk_synchronous_with_rounded_pulls_is_one_device_that_rounds_its_weights,
                     bdata::xrange(2) * bdata::xrange(3), f, keys) {
    const replicas_app alone{.replicas = 1, .batch = 16, .microbatches = 2};
    pipeline_sim one{{.faults = calm, .nodes = 1, .app = text_of(alone)}};
    const char* const servers[] = {"shards: 2", "shards: 1", "node_servers: true"};
    const std::string sync =
        server_with("bsp", std::string{servers[keys]} + ", pulls: " + forms[f]);
    for (const sim_faults& faults : {calm, storm}) {
        const temporary_folder folder;
        pipeline_sim run{{.seed = 3,
                          .faults = faults,
                          .nodes = keys == 2 ? 1u : 2u,
                          .devices_of_node = keys == 2 ? 2u : 1u,
                          .app = text_of({.sync = sync})}};
        run.train(folder.path());
        good_report(run);
        check_saved(one, folder.path(),
                    {.layers = {6}, .microbatches = 2, .pulls = form_of(forms[f])});
    }
}

BOOST_AUTO_TEST_CASE(pulls_of_f32_change_no_bit_and_others_do) {
    const auto plain = train({.sync = server("bsp", 2)});
    const auto with = [](const std::string& form) {
        return train({.sync = server_with("bsp", "shards: 2, pulls: " + form)}).weights;
    };
    BOOST_TEST((with("f32") == plain.weights));
    BOOST_TEST((with("bf16") != plain.weights));
    BOOST_TEST(farthest(with("bf16"), plain.weights) < 0.05);
    BOOST_TEST(farthest(with("int8"), plain.weights) < 0.05);
}

// Each update is less than half of bfloat16's step between two weights: those of the server add up.
BOOST_AUTO_TEST_CASE(small_updates_are_not_lost) {
    for (const char* rule : {"bsp", "{ssp: {staleness: 1}}"}) {
        const auto with = [&](const std::string& form) {
            return train({.sync = server_with(rule, "shards: 2, pulls: " + form),
                          .optimizer = "sgd: {learning_rate: 0.0001}"})
                .weights;
        };
        const auto first =
            train({.sync = server("bsp", 2), .optimizer = "sgd: {learning_rate: 1e-30}"}).weights;
        const auto plain = with("f32"), rounded = with("bf16");
        for (const auto& [name, values] : first)
            for (std::size_t i = 0; i < values.size(); ++i) {
                const double moved = static_cast<double>(plain.at(name)[i]) - double{values[i]};
                const double so = static_cast<double>(rounded.at(name)[i]) - double{values[i]};
                BOOST_TEST(std::abs(so - moved) <= 0.2 * std::abs(moved) + 2e-6);
            }
    }
}

BOOST_DATA_TEST_CASE(every_rule_trains_with_rounded_pulls, bdata::xrange(2) * bdata::xrange(6), f,
                     rule) {
    const std::string pulls = ", pulls: " + forms[f];
    const std::string servers[] = {
        server_with("{ssp: {staleness: 2}}", "shards: 2" + pulls),
        server_with("asp", "node_servers: true" + pulls),
        server_with("{value_bounded: {bound: 0.05}}", "shards: 2" + pulls),
        server_with("{softsync: {splits: 2}}", "shards: 2" + pulls),
        server_with("asp", "push_every: 2, fetch_every: 3" + pulls),
        server_with("asp", "delay_compensation: {adaptive: {}}" + pulls)};
    const bool is_pipeline = rule != 2; // a bound of values is for whole models
    const auto served =
        train({.layers = is_pipeline ? std::vector<std::size_t>{2, 4} : std::vector<std::size_t>{6},
               .replicas = 3,
               .sync = servers[rule],
               .samples = 330,
               .optimizer = "sgd: {learning_rate: 0.02}"},
              storm, 7);
    BOOST_TEST(served.report.epochs.back().test_loss < served.report.epochs.front().train_loss);
    if (rule != 4)
        BOOST_TEST(lags_of(served.report).first == (is_pipeline ? 2u : 1u) * 2 * 42);
}

BOOST_AUTO_TEST_CASE(a_stopped_run_goes_on_from_the_servers_own_weights) {
    check_stop_and_resume(
        {.replicas = 3, .sync = server_with("bsp", "pulls: int8"), .samples = 70, .batch = 4});
}

BOOST_AUTO_TEST_SUITE_END()
