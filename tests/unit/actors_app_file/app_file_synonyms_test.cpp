// What those who know other programs are told of their words.
#include <boost/test/unit_test.hpp>

#include "actors/training/plan/training_app.hpp"

using namespace troupe;

namespace {

result<std::string> explain(std::string_view path) {
    return explain_app_key(path, {&training_kind(), 1});
}

// What is wrong with a model and a train block of these keys besides others.
std::string wrong(const std::string& model, const std::string& train = "batch: 1") {
    const std::string text = "troupe: 1\n"
                             "data: {synthetic: {}}\n"
                             "model: {input: [4, 4], " +
                             model +
                             "}\n"
                             "train: {" +
                             train + ", optimizer: {sgd: {learning_rate: 0.1}}}\n";
    const std::string all = parse_training(text, "app.yaml").failure().message();
    return all.substr(all.find("unknown"));
}

} // namespace

BOOST_AUTO_TEST_SUITE(app_file_synonyms)

BOOST_AUTO_TEST_CASE(words_of_other_programs_are_explained_by_what_they_stand_for) {
    const std::string precision = explain("model.precision").value();
    for (const char* word :
         {"GradScaler", "torch.amp.GradScaler", "autocast", "amp", "fp16", "half", "float16",
          "bfloat16", "loss_scale", "mixed precision", "mixed_precision", "torch_dtype"})
        BOOST_TEST(explain(word).value() == precision);
    BOOST_TEST(explain("train.amp").failure().message() ==
               "train: no key \"amp\"; what it sets elsewhere is model.precision here");
}

BOOST_AUTO_TEST_CASE(a_word_of_other_programs_comes_with_the_one_for_it) {
    const auto meant = [](const char* theirs, const char* ours) {
        return "unknown word \"" + std::string{theirs} + "\"; did you mean \"" + ours + "\"?";
    };
    for (const auto& [theirs, ours] : {std::pair{"float16", "f16"},
                                       {"half", "f16"},
                                       {"fp16", "f16"},
                                       {"torch.float16", "f16"},
                                       {"bfloat16", "bf16"},
                                       {"float32", "f32"}})
        BOOST_TEST(wrong("layers: [relu], precision: " + std::string{theirs}) ==
                   meant(theirs, ours));
    BOOST_TEST(wrong("layers: [swish]") == meant("swish", "silu"));
    BOOST_TEST(wrong("layers: [{transformer: {heads: 2, activation: gelu_new}}]") ==
               meant("gelu_new", "gelu_tanh"));
    BOOST_TEST(wrong("layers: [{gelu_new: {}}]") == "unknown key; did you mean \"gelu_tanh\"?");
    BOOST_TEST(wrong("layers: [relu]", "batch_size: 4") == "unknown key; did you mean \"batch\"?");
    BOOST_TEST(explain("train.optimizer.adam.lr")
                   .failure()
                   .message()
                   .ends_with("did you mean \"learning_rate\"?"));
    // The number of bits is not that of the model.
    BOOST_TEST(explain("topology.sync.codec.float16")
                   .failure()
                   .message()
                   .ends_with("did you mean \"f16\"?"));
}

BOOST_AUTO_TEST_CASE(a_key_of_other_programs_comes_with_what_to_write_instead) {
    BOOST_TEST(wrong("layers: [{linear: {out: 4, activation: relu}}]") ==
               "unknown key; an activation is a layer of its own, as - relu behind this one");
    for (const std::string key : {"fp16", "half", "amp", "dtype"}) {
        const std::string told = "unknown key; what it sets elsewhere is model.precision here";
        BOOST_TEST(wrong("layers: [relu], " + key + ": true") == told);
        BOOST_TEST(wrong("layers: [relu]", key + ": {enabled: true}") == told);
    }
}

BOOST_AUTO_TEST_SUITE_END()
