// Sentences on the tensors of a file that are not a model's.
#include <boost/test/unit_test.hpp>

#include "actors/checkpoint/tensor_fit.hpp"

using namespace troupe;

namespace {

using entries = std::vector<weights_layout::entry>;

const entries model{{"layers.0.weight", {4, 3}, false},
                    {"layers.0.bias", {4}, false},
                    {"layers.2.weight", {2, 4}, false},
                    {"layers.2.bias", {2}, false},
                    {"momentum_buffer.layers.0.bias", {4}, true}};

named_tensor given(const std::string& name, const tensor_shape& shape,
                   data_type type = data_type::float32) {
    return {name, type, shape, {}};
}

std::vector<named_tensor> all_given() {
    return {given("layers.0.weight", {4, 3}), given("layers.0.bias", {4}),
            given("layers.2.weight", {2, 4}), given("layers.2.bias", {2})};
}

} // namespace

BOOST_AUTO_TEST_SUITE(tensor_fit)

BOOST_AUTO_TEST_CASE(the_tensors_of_the_model_fit_without_an_optimizers_state) {
    BOOST_TEST(why_not_fitting(model, all_given(), false) == "");
    auto more = all_given();
    more.push_back(given("exp_avg.layers.0.bias", {4}));
    BOOST_TEST(why_not_fitting(model, more, true) == "");
    BOOST_TEST(why_not_fitting(model, more, false) ==
               "1 tensor is none of the model's, exp_avg.layers.0.bias");
}

BOOST_AUTO_TEST_CASE(all_that_does_not_fit_is_listed_at_once) {
    auto tensors = all_given();
    tensors[0].name = "0.weight"; // of nn.Sequential alone
    tensors[1].name = "layers.0.bais";
    tensors[2].shape = {4, 2};
    tensors[3].type = data_type::float64;
    BOOST_TEST(why_not_fitting(model, tensors, false) ==
               "2 tensors are missing, layers.0.weight (like 0.weight), layers.0.bias (like "
               "layers.0.bais); 2 tensors are none of the model's, 0.weight, layers.0.bais; "
               "2 tensors are of another form, layers.2.weight is float32 [4, 2], but the model "
               "wants float32 [2, 4], layers.2.bias is float64 [2], but the model wants float32 "
               "[2]; convert float64 first, in PyTorch by tensor.float()");
}

BOOST_AUTO_TEST_CASE(long_lists_are_cut_and_counted) {
    std::vector<named_tensor> tensors = all_given();
    for (int i = 0; i < 100; ++i)
        tensors.push_back(given("x\x1b" + std::to_string(i), {1}));
    const std::string why = why_not_fitting(model, tensors, false);
    BOOST_TEST(why.starts_with("100 tensors are none of the model's, x\\x1b0, x\\x1b1, "));
    BOOST_TEST(why.ends_with(", and 92 more"));
    entries large;
    for (int i = 0; i < 3000; ++i)
        large.push_back({"layers." + std::to_string(i) + ".weight", {1}, false});
    BOOST_TEST(why_not_fitting(large, {}, true).ends_with(", and 2992 more"));
}

BOOST_AUTO_TEST_CASE(the_parts_of_wrappers_are_taken_off_names) {
    for (const char* name :
         {"layers.0.weight", "module.layers.0.weight", "_orig_mod.layers.0.weight",
          "_orig_mod.module.layers.0.weight", "module._orig_mod.module.layers.0.weight",
          "layers._orig_mod.0.weight", "layers.0._orig_mod.weight"})
        BOOST_TEST(without_wrappers(name) == "layers.0.weight", name);
    for (const char* name :
         {"modules.0.weight", "my_module.weight", "module", "_orig_mod", "", "."})
        BOOST_TEST(without_wrappers(name) == name);
}

BOOST_AUTO_TEST_SUITE_END()
