// Documentation and JSON Schema come from the schema and are complete.
#include <boost/test/unit_test.hpp>

#include <set>

#include <capnp/dynamic.h>
#include <nlohmann/json.hpp>

#include "actors/app_file/schema.hpp"
#include "actors/training/plan/training_app.hpp"

using namespace troupe;

namespace {

result<std::string> explain(std::string_view path) {
    return explain_app_key(path, {&training_kind(), 1});
}

void check_documented(capnp::StructSchema schema, std::set<std::uint64_t>& seen) {
    if (!seen.insert(schema.getProto().getId()).second)
        return; // layers hold layers
    const auto rules = troupe::app_file::rules_of(schema, {});
    for (const auto& f : rules.fields) {
        BOOST_TEST(!f.doc.empty(), f.key << " has no documentation");
        capnp::Type type = f.type();
        if (type.isList()) {
            BOOST_TEST(f.items_max.has_value(), f.key << " is a list without a bound");
            type = type.asList().getElementType();
        }
        if (!type.isStruct())
            continue;
        // An absent union stands for its first member, which must then need no settings.
        const auto below = troupe::app_file::rules_of(type.asStruct(), {});
        if (below.has_union && !f.required && !f.in_union && !f.type().isList())
            BOOST_TEST(troupe::app_file::stands_alone(below.fields[0]),
                       f.key << " has no default member");
        check_documented(type.asStruct(), seen);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(app_file_docs)

BOOST_AUTO_TEST_CASE(every_key_is_documented_and_every_list_bounded) {
    std::set<std::uint64_t> seen;
    check_documented(capnp::Schema::from<proto::App>(), seen);
}

BOOST_AUTO_TEST_CASE(a_key_is_explained_with_kind_range_and_default) {
    BOOST_TEST(*explain("model.layers[0].conv2d.stride") ==
               "model.layers.conv2d.stride: Step of the kernel in both directions.\n"
               "  whole number, 1 to 1024; default 1\n");
    BOOST_TEST(*explain("train.optimizer.sgd.momentum") ==
               "train.optimizer.sgd.momentum: Share of the last step that is kept.\n  number, 0 to "
               "0.99999; default 0\n");
    BOOST_TEST(explain("train.warmup_minibatches")->find("whole number, 0 to 1000000000") !=
               std::string::npos);
    BOOST_TEST(explain("train.clip")->find("over the weights of each stage") != std::string::npos);
    BOOST_TEST(explain("train.batch_growth")->find("every_epochs  Epochs between two") !=
               std::string::npos);
    BOOST_TEST(explain("train.schedule")->find("minibatch by minibatch") != std::string::npos);
    BOOST_TEST(explain("model")->find("layers     Layers in order") != std::string::npos);
    BOOST_TEST(explain("model.layers")->find("exactly one of:\n    conv2d ") != std::string::npos);
    const std::string data = *explain("data");
    BOOST_TEST(data.find("exactly one of:\n    idx ") != std::string::npos);
    BOOST_TEST(data.find("and keys:\n    target  ") != std::string::npos);
    BOOST_TEST(explain("topology")->find("default single") != std::string::npos);
    BOOST_TEST(explain("topology.pipeline.schedule")->find("(map)\n    gpipe ") !=
               std::string::npos);
    BOOST_TEST(explain("data.idx.train_images")->find("starts at the app file's folder") !=
               std::string::npos);
    for (const char* path :
         {"topology.pipeline.stages.layers", "topology.pipeline.stages[1].layers",
          "topology.pipeline.stages.1.layers"})
        BOOST_TEST(explain(path).value().starts_with(
            "topology.pipeline.stages.layers: How many of the model's layers"));
    const std::string stages = *explain("topology.pipeline.stages");
    BOOST_TEST(stages.find("  forms:\n    auto ") != std::string::npos);
    BOOST_TEST(stages.find("  keys of each in a list:\n    layers ") != std::string::npos);
    BOOST_TEST(explain("")->find("checkpoint  ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_word_alone_is_explained_where_it_stands) {
    for (const auto& [word, path] : {std::pair{"linear", "model.layers.linear"},
                                     {"conv2d.kernel", "model.layers.conv2d.kernel"},
                                     {"ignored_label", "model.loss.cross_entropy.ignored_label"},
                                     {"adamw", "train.optimizer.adamw"},
                                     {"microbatches", "topology.pipeline.microbatches"}})
        BOOST_TEST(explain(word).value() == explain(path).value());
    const std::string kernels = explain("kernel").value();
    BOOST_TEST(
        kernels.starts_with("\"kernel\" stands in 3 places:\n  model.layers.conv2d.kernel: "),
        kernels);
    BOOST_TEST(kernels.find("\n  model.layers.max_pool.kernel: ") != std::string::npos, kernels);
}

BOOST_AUTO_TEST_CASE(an_unknown_key_is_not_explained_but_corrected) {
    BOOST_TEST(explain("trian").failure().message() == "no key \"trian\"; did you mean \"train\"?");
    BOOST_TEST(explain("linear.kernal").failure().message() ==
               "model.layers.linear: no key \"kernal\"; expected out or bias");
    BOOST_TEST(explain("train.bacth").failure().message() ==
               "train: no key \"bacth\"; did you mean \"batch\"?");
    BOOST_TEST(explain("topology.pipeline.stages.layer").failure().message() ==
               "topology.pipeline.stages: no key \"layer\"; did you mean \"layers\"?");
    BOOST_TEST(explain("train.batch.x").failure().message() ==
               "\"train.batch\" has no keys below it");
}

BOOST_AUTO_TEST_CASE(the_json_schema_holds_keys_ranges_defaults_and_choices) {
    const auto schema = nlohmann::json::parse(app_json_schema({&training_kind(), 1}));
    BOOST_TEST(schema["additionalProperties"] == false);
    BOOST_TEST(schema["required"] == nlohmann::json({"troupe", "data", "model", "train"}));
    const auto& conv = schema["definitions"]["Conv2d"]["properties"];
    BOOST_TEST(conv["kernel"]["minimum"] == 1);
    BOOST_TEST(conv["kernel"]["maximum"] == 1024);
    BOOST_TEST(conv["stride"]["default"] == 1);
    BOOST_TEST(schema["definitions"]["Topology"]["oneOf"].size() ==
               5u); // single and pipeline, each as a word and as a key, and single left out
    BOOST_TEST(schema["definitions"]["Optimizer"]["oneOf"][0].count("const") ==
               0u); // sgd has no word
    const auto& idx = schema["definitions"]["Data"]["oneOf"][0];
    BOOST_TEST(idx["required"] == nlohmann::json({"idx"}));
    BOOST_TEST(idx["properties"]["target"]["default"] == "labels");
    BOOST_TEST(schema["definitions"]["Stages"]["oneOf"].size() == 3u);
    BOOST_TEST(schema["properties"]["topology"]["default"] == "single");
}

BOOST_AUTO_TEST_SUITE_END()
