// Whether data is what a model takes.
#include <boost/test/unit_test.hpp>

#include "actors/data/samples/dataset.hpp"

using namespace troupe;

namespace {

using bytes = std::vector<std::uint8_t>;
using floats = std::vector<float>;
using tokens = std::vector<std::int32_t>;

const value_form pixels{data_type::float32, {1}, 0};

value_form classes(std::size_t count, const tensor_shape& shape = {}) {
    return {data_type::int32, shape, count};
}

dataset labelled(tokens labels) {
    dataset data{"labels.gz", "data.idx.train_labels", labels.size(), {}, {}};
    data.inputs = make_column(bytes(labels.size()), data_type::float32, {1});
    data.labels = make_column(std::move(labels), data_type::int32, {});
    return data;
}

std::string refusal(dataset data, const value_form& input, const value_form& labels) {
    const auto fits = fit_to_model(data, input, labels);
    BOOST_REQUIRE(!fits.ok());
    BOOST_TEST((fits.failure().code() == errc::data));
    return fits.failure().message();
}

} // namespace

BOOST_AUTO_TEST_SUITE(datasets)

BOOST_AUTO_TEST_CASE(labels_that_the_model_has_no_output_for_are_found) {
    dataset data = labelled({3, 7, 6});
    BOOST_TEST(fit_to_model(data, pixels, classes(9)).ok());
    BOOST_TEST(data.classes == 8u);
    BOOST_TEST(refusal(data, pixels, classes(6)) ==
               "data.idx.train_labels: labels.gz: sample 1 has label 7, but the model has 6 "
               "outputs; give the last layer at least 8");
}

BOOST_AUTO_TEST_CASE(ignored_labels_need_no_output) {
    dataset data = labelled({ignored_label, 1});
    BOOST_TEST(fit_to_model(data, pixels, classes(2)).ok());
}

BOOST_AUTO_TEST_CASE(labels_of_which_none_counts_are_refused) {
    BOOST_TEST(refusal(labelled({ignored_label, ignored_label}), pixels, classes(2)) ==
               "data.idx.train_labels: labels.gz: no label counts: all are -1, which the loss "
               "leaves out; give samples theirs");
}

BOOST_AUTO_TEST_CASE(labels_that_count_from_1_are_told_as_such) {
    const std::string hint = "subtract 1 from each if they count from 1";
    BOOST_TEST(refusal(labelled({1, 3, 2}), pixels, classes(3)).ends_with(hint));
    BOOST_TEST(!refusal(labelled({1, 4, 2}), pixels, classes(3)).ends_with(hint));
    BOOST_TEST(!refusal(labelled({0, 3, 2}), pixels, classes(3)).ends_with(hint));
}

BOOST_AUTO_TEST_CASE(the_values_between_the_windows_of_a_text_do_not_count) {
    const auto text = std::make_shared<const value_array>(bytes{1, 2, 3, 99, 4, 5, 6, 2});
    dataset data{"text", "data.text", 2, {}, {}};
    data.inputs = {text, data_type::int32, {2}, 0, 4};
    data.labels = {text, data_type::int32, {2}, 1, 4};
    BOOST_TEST(fit_to_model(data, classes(7, {2}), classes(7, {2})).ok());
    BOOST_TEST(refusal(data, classes(4, {2}), classes(7, {2})) ==
               "data.text: text: sample 1 has token 4, but the model has 4 tokens; give its first "
               "layer at least 6");
    data.inputs.stride = data.labels.stride = 1; // windows that overlap
    BOOST_TEST(refusal(data, classes(100, {2}), classes(3, {2})).find("sample 0 has label 3") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(samples_and_labels_of_another_kind_are_refused) {
    dataset data{"data", "data.npy.train_labels", 2, {}, {}};
    data.inputs = make_column(tokens{1, 2, 3, 4}, data_type::int32, {2});
    data.labels = make_column(floats{1, 2, 3, 4, 5, 6}, data_type::float32, {3});
    const value_form numbers{data_type::float32, {2}, 0};
    const value_form outputs{data_type::float32, {3}, 0};
    BOOST_TEST(refusal(data, numbers, outputs) ==
               "data.npy.train_labels: data: a sample is whole numbers of shape [2], but the "
               "model's first layer takes numbers of shape [2]; choose another first layer or "
               "other data");
    BOOST_TEST(refusal(data, classes(5, {2}), classes(10)) ==
               "data.npy.train_labels: data: a sample's label is numbers of shape [3], but the "
               "loss takes one whole number; choose another loss, last layer or data.target");
    BOOST_TEST(fit_to_model(data, classes(5, {2}), outputs).ok());
}

BOOST_AUTO_TEST_CASE(as_many_numbers_take_the_shape_of_the_outputs) {
    dataset data{"data", "data.idx.train_labels", 1, {}, {}};
    data.inputs = make_column(bytes(6), data_type::float32, {1, 2, 3});
    data.labels = data.inputs;
    data.labels_are_inputs = true;
    const value_form input{data_type::float32, {1, 2, 3}, 0};
    BOOST_TEST(fit_to_model(data, input, {data_type::float32, {6}, 0}).ok());
    BOOST_TEST((data.labels.shape == tensor_shape{6}));
    BOOST_TEST((data.inputs.shape == tensor_shape{1, 2, 3}));
    BOOST_TEST(!fit_to_model(data, input, {data_type::float32, {7}, 0}).ok());
}

BOOST_AUTO_TEST_SUITE_END()
