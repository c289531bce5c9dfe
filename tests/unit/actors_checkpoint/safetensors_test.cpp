#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "actors/checkpoint/safetensors.hpp"
#include "schemas/base/limits.hpp"

using namespace troupe;

namespace {

const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
const std::vector<std::uint8_t> octets = {7, 8, 9};
const std::vector<double> doubles = {0.1, -1e300};
const std::vector<std::int64_t> counts = {-1, std::int64_t{1} << 62};

std::vector<named_tensor> some_tensors() {
    return {
        {"layers.0.weight", data_type::float32, {2, 3}, std::as_bytes(std::span{numbers})},
        {"scalar", data_type::float32, tensor_shape{}, std::as_bytes(std::span{numbers}.first(1))},
        {"empty", data_type::int32, {0, 5}, {}},
        {"doubles", data_type::float64, {2}, std::as_bytes(std::span{doubles})},
        {"counts", data_type::int64, {1, 2}, std::as_bytes(std::span{counts})},
        {"bytes", data_type::uint8, {3}, std::as_bytes(std::span{octets})}};
}

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span{text});
    return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> file_of(std::span<const named_tensor> tensors,
                               const tensor_metadata& metadata = {}) {
    std::vector<std::byte> file = bytes_of(safetensors_header(tensors, metadata));
    for (const auto& t : tensors)
        file.insert(file.end(), t.bytes.begin(), t.bytes.end());
    return file;
}

// A file of this JSON and `elements` bytes after it.
std::vector<std::byte> raw(const std::string& json, std::size_t elements = 0) {
    std::string text(8, '\0');
    const std::uint64_t length = json.size();
    std::memcpy(text.data(), &length, 8);
    return bytes_of(text + json + std::string(elements, 'x'));
}

std::string message(const std::vector<std::byte>& file) {
    const auto parsed = parse_safetensors(file);
    if (parsed.ok())
        return "accepted";
    BOOST_TEST((parsed.failure().code() == errc::data));
    const std::string& text = parsed.failure().message();
    BOOST_TEST(text.find('\n') == std::string::npos);
    const std::string prefix = "not a usable safetensors file: ";
    BOOST_REQUIRE_MESSAGE(text.starts_with(prefix), text);
    return text.substr(prefix.size());
}

std::string tensor_json(const std::string& name, const std::string& shape,
                        const std::string& offsets) {
    return "\"" + name + "\":{\"dtype\":\"F32\",\"shape\":" + shape +
           ",\"data_offsets\":" + offsets + "}";
}

} // namespace

BOOST_AUTO_TEST_SUITE(safetensors)

BOOST_AUTO_TEST_CASE(what_is_written_is_read_back) {
    const auto tensors = some_tensors();
    const auto file = file_of(tensors, {{"format", "pt"}, {"note", "\"quoted\" \n"}});
    const auto parsed = parse_safetensors(file);
    BOOST_REQUIRE_MESSAGE(parsed.ok(), (parsed.ok() ? "" : parsed.failure().message()));
    BOOST_TEST(parsed->metadata.at("note") == "\"quoted\" \n");
    BOOST_REQUIRE(parsed->tensors.size() == tensors.size());
    for (const auto& wanted : tensors) {
        const auto found = std::ranges::find(parsed->tensors, wanted.name, &named_tensor::name);
        BOOST_REQUIRE((found != parsed->tensors.end()));
        BOOST_TEST((found->type == wanted.type));
        BOOST_TEST((found->shape == wanted.shape));
        BOOST_TEST(std::ranges::equal(found->bytes, wanted.bytes));
    }
    BOOST_TEST(safetensors_header(tensors, {}).size() % 8 == 0u);
}

BOOST_AUTO_TEST_CASE(a_file_without_tensors_is_a_file) {
    BOOST_TEST(message(file_of({})) == "accepted");
    BOOST_TEST(message(raw("{}   ")) == "accepted");
}

BOOST_AUTO_TEST_CASE(files_of_other_writers_may_order_names_and_keys_as_they_like) {
    BOOST_TEST(message(raw("{\"b\":{\"data_offsets\":[4,8],\"shape\":[1],\"dtype\":\"F32\"}," +
                               tensor_json("a", "[]", "[0,4]") + "}",
                           8)) == "accepted");
}

BOOST_AUTO_TEST_CASE(a_file_cut_anywhere_is_refused) {
    const auto whole = file_of(some_tensors());
    for (std::size_t length = 0; length < whole.size(); ++length)
        BOOST_TEST(message({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}) !=
                       "accepted",
                   length);
    auto longer = whole;
    longer.push_back(std::byte{0});
    BOOST_TEST(message(longer) == "1 bytes at the end belong to no tensor");
}

BOOST_AUTO_TEST_CASE(a_header_larger_than_the_file_or_the_limit_is_refused) {
    auto file = raw("{}");
    file[7] = std::byte{0x7f};
    BOOST_TEST(message(file) == "a header of more than 16777216 bytes");
    file[7] = std::byte{0};
    file[0] = std::byte{3};
    BOOST_TEST(message(file) == "shorter than its header");
    BOOST_TEST(message({}) == "shorter than its header");
}

BOOST_AUTO_TEST_CASE(a_file_of_torch_save_is_refused_with_what_to_use_instead) {
    BOOST_TEST(message(bytes_of(std::string{"PK\3\4\0\0\10\10\0\0", 10})) ==
               "a zip archive, which is what torch.save writes; write the weights with "
               "safetensors.torch.save_file");
}

BOOST_AUTO_TEST_CASE(overlaps_holes_and_wrong_sizes_are_refused) {
    const auto two = [](const std::string& second, std::size_t elements) {
        return message(raw("{" + tensor_json("a", "[1]", "[0,4]") + "," + second + "}", elements));
    };
    BOOST_TEST(two(tensor_json("b", "[1]", "[4,8]"), 8) == "accepted");
    BOOST_TEST(two(tensor_json("b", "[1]", "[0,4]"), 4) == "tensor \"b\" overlaps another");
    BOOST_TEST(two(tensor_json("b", "[1]", "[2,6]"), 6) == "tensor \"b\" overlaps another");
    BOOST_TEST(two(tensor_json("b", "[1]", "[5,9]"), 9) == "tensor \"b\" leaves a hole before it");
    BOOST_TEST(two(tensor_json("b", "[1]", "[4,8]"), 7) == "tensor \"b\" lies outside the file");
    BOOST_TEST(two(tensor_json("b", "[1]", "[4,8]"), 9) ==
               "1 bytes at the end belong to no tensor");
    BOOST_TEST(two(tensor_json("b", "[2]", "[4,8]"), 8) == "tensor \"b\" needs 8 bytes, but has 4");
    BOOST_TEST(two(tensor_json("b", "[1]", "[4,6]"), 6) == "tensor \"b\" needs 4 bytes, but has 2");
    BOOST_TEST(two(tensor_json("b", "[3]", "[4,8]"), 8) == "tensor \"b\" is larger than the file");
    BOOST_TEST(two(tensor_json("b", "[0]", "[4,8]"), 8) == "tensor \"b\" needs 0 bytes, but has 4");
    BOOST_TEST(two(tensor_json("b", "[1]", "[4,3]"), 8) == "tensor \"b\" lies outside the file");
    BOOST_TEST(two(tensor_json("b", "[4611686018427387904,4]", "[4,8]"), 8) ==
               "tensor \"b\" is larger than the file");
    BOOST_TEST(two(tensor_json("b", "[0,18446744073709551615,18446744073709551615]", "[4,4]"), 4) ==
               "accepted");
    BOOST_TEST(two(tensor_json("b", "[1,1,1,1,1,1,1,1,1]", "[4,8]"), 8) ==
               "tensor \"b\" has more than 8 dimensions");
    BOOST_TEST(two(tensor_json("b", "[1]", "[4,18446744073709551615]"), 8) ==
               "tensor \"b\" lies outside the file");
}

BOOST_AUTO_TEST_CASE(json_of_another_structure_is_refused) {
    const std::string good = tensor_json("a", "[1]", "[0,4]");
    const std::pair<std::string, std::string> cases[] = {
        {"", "its header is not a JSON map"},
        {"[]", "its header is not a JSON map"},
        {"{", "its header has JSON that is malformed at byte 2"},
        {"{} x", "its header has JSON that is malformed at byte 4"},
        {"{\"a\":1}", "its header has a number where none belongs"},
        {"{\"a\":null}", "its header has a null"},
        {"{\"a\":[]}", "its header has a list where none belongs"},
        {"{\"a\":\"x\"}", "its header has a text where none belongs"},
        {"{\"a\":{}}", "its header has a tensor without dtype, shape or data_offsets"},
        {"{" + good + "," + good + "}", "its header has a repeated name"},
        {"{\"\":{}}", "its header has a name that is empty or too long"},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}",
         "its header has a tensor with a repeated key"},
        {"{\"a\":{\"offsets\":[0,4]}}",
         "its header has a tensor with a key other than dtype, shape and data_offsets"},
        {"{\"a\":{\"dtype\":{}}}", "its header has a map where none belongs"},
        {"{\"a\":{\"dtype\":[1]}}", "its header has a list where none belongs"},
        {"{\"a\":{\"dtype\":3}}", "its header has a number where none belongs"},
        {"{\"a\":{\"shape\":[[1]]}}", "its header has a list where none belongs"},
        {"{\"a\":{\"shape\":[-1]}}", "its header has a negative number"},
        {"{\"a\":{\"shape\":[1.0]}}", "its header has a number that is not whole or too large"},
        {"{\"a\":{\"shape\":[18446744073709551616]}}",
         "its header has a number that is not whole or too large"},
        {"{\"a\":{\"shape\":[true]}}", "its header has true or false where none belongs"},
        {"{\"a\":{\"data_offsets\":[0]}}", "its header has data_offsets that are not two numbers"},
        {"{\"a\":{\"data_offsets\":[0,4,4]}}", "its header has a number where none belongs"},
        {"{\"__metadata__\":{\"a\":1}}", "its header has a number where none belongs"},
        {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", "its header has a repeated metadata key"},
        {"{\"__metadata__\":\"a\"}", "its header has a text where none belongs"},
        {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[],\"data_offsets\":[0,0]}}",
         "tensor \"a\" has elements of type BOOL; F64, F32, F16, BF16, I64, I32 and U8 can be "
         "read: convert it first, in PyTorch by tensor.float()"},
        {"{\"num_batches_tracked\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,4]}}",
         "tensor \"num_batches_tracked\" needs 8 bytes, but has 4"},
        {"{\"\xff\":{}}", "its header has JSON that is malformed at byte 3"}};
    for (const auto& [json, said] : cases)
        BOOST_TEST(message(raw(json, 4)) == said, json << " gave " << message(raw(json, 4)));
    BOOST_TEST(message(raw(std::string(1 << 20, '['))) == "its header is not a JSON map");
    std::string shape;
    for (int i = 0; i < 100000; ++i)
        shape += "1,";
    BOOST_TEST(message(raw("{\"a\":{\"shape\":[" + shape + "1]}}")) ==
               "its header has a number where none belongs");
}

BOOST_AUTO_TEST_CASE(counts_of_batch_norms_are_written_before_the_tensors_and_left_out_when_read) {
    const auto tensors = some_tensors();
    const std::vector<named_count> counts = {{"layers.1.num_batches_tracked", 7},
                                             {"layers.4.num_batches_tracked", 1ll << 40}};
    std::vector<std::byte> file = bytes_of(safetensors_header(tensors, {}, counts));
    const std::size_t begin = file.size();
    for (const auto& c : counts) {
        const auto value = std::as_bytes(std::span{&c.value, 1});
        file.insert(file.end(), value.begin(), value.end());
    }
    for (const auto& t : tensors)
        file.insert(file.end(), t.bytes.begin(), t.bytes.end());
    const auto parsed = parse_safetensors(file);
    BOOST_REQUIRE_MESSAGE(parsed.ok(), (parsed.ok() ? "" : parsed.failure().message()));
    BOOST_REQUIRE(parsed->tensors.size() == tensors.size());
    BOOST_TEST((parsed->tensors[0].bytes.data() >= file.data() + begin + 16));
    for (const auto& t : parsed->tensors)
        BOOST_TEST(t.name.find("num_batches_tracked") == std::string::npos);
}

// As the standard says what the bits mean.
double value_of(std::uint32_t bits, int exponent_bits, int fraction_bits) {
    const std::uint32_t exponent_max = (1u << exponent_bits) - 1;
    const std::uint32_t exponent = bits >> fraction_bits & exponent_max;
    const double fraction = std::ldexp(bits & ((1u << fraction_bits) - 1), -fraction_bits);
    const int bias = static_cast<int>(exponent_max / 2);
    double size = std::ldexp(exponent == 0 ? fraction : 1 + fraction,
                             static_cast<int>(std::max(exponent, 1u)) - bias);
    if (exponent == exponent_max)
        size = fraction == 0 ? INFINITY : NAN;
    return bits >> (exponent_bits + fraction_bits) == 0 ? size : -size;
}

BOOST_AUTO_TEST_CASE(numbers_of_16_bits_are_widened_exactly) {
    for (const auto& [type, exponent_bits] : {std::pair{"F16", 5}, std::pair{"BF16", 8}}) {
        auto file = raw("{\"a\":{\"dtype\":\"" + std::string{type} +
                            "\",\"shape\":[256,256],\"data_offsets\":[0,131072]}}",
                        131072);
        for (std::uint32_t bits = 0; bits < 65536; ++bits)
            std::memcpy(file.data() + file.size() - 131072 + 2 * bits, &bits, 2);
        std::optional<safetensors_file> copy;
        {
            const auto adopted = adopt_safetensors(std::move(file), "file");
            BOOST_REQUIRE(adopted.ok());
            copy = *adopted;
        }
        const named_tensor* a = copy->find("a");
        BOOST_REQUIRE((a != nullptr && a->type == data_type::float32));
        BOOST_REQUIRE((a->shape == tensor_shape{256, 256} && a->bytes.size() == 262144));
        std::size_t wrong = 0;
        for (std::uint32_t bits = 0; bits < 65536; ++bits) {
            float given = 0;
            std::memcpy(&given, a->bytes.data() + 4 * bits, 4);
            const double expected = value_of(bits, exponent_bits, 15 - exponent_bits);
            wrong += std::isnan(expected)
                         ? !std::isnan(given)
                         : given != expected || std::signbit(given) != std::signbit(expected);
        }
        BOOST_TEST(wrong == 0u, type);
    }
}

BOOST_AUTO_TEST_CASE(numbers_that_are_not_finite_are_found) {
    std::vector<named_tensor> tensors = some_tensors();
    BOOST_TEST((first_not_finite(tensors) == nullptr));
    const float huge = std::numeric_limits<float>::max();
    const float infinite = std::numeric_limits<float>::infinity();
    const float none = std::numeric_limits<float>::quiet_NaN();
    for (const float broken : {infinite, -infinite, none}) {
        const std::vector<float> values = {-huge, 0, broken};
        tensors.back() = {"last", data_type::float32, {3}, std::as_bytes(std::span{values})};
        BOOST_TEST((first_not_finite(tensors) == &tensors.back()));
        tensors.back().bytes = tensors.back().bytes.first(8);
        BOOST_TEST((first_not_finite(tensors) == nullptr));
        const std::vector<double> wide = {1e300, 0, broken};
        tensors.back() = {"last", data_type::float64, {3}, std::as_bytes(std::span{wide})};
        BOOST_TEST((first_not_finite(tensors) == &tensors.back()));
        tensors.back().bytes = tensors.back().bytes.first(16);
        BOOST_TEST((first_not_finite(tensors) == nullptr));
    }
}

BOOST_AUTO_TEST_SUITE_END()
