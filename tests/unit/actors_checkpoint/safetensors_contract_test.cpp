// The contract of readers (tests/support/file_forms.hpp): safetensors.
#include "actors/checkpoint/safetensors.hpp"

#include <cstring>

#include "tests/support/file_forms.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

std::string file_of(const std::string& json, const std::string& elements) {
    std::string length(8, '\0');
    const std::uint64_t bytes = json.size();
    std::memcpy(length.data(), &bytes, 8);
    return length + json + elements;
}

std::string entry(const std::string& name, const std::string& type, const std::string& shape,
                  std::size_t begin, std::size_t end) {
    return "\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":[" + shape +
           "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
}

// A tensor of two elements alone.
std::string two(const std::string& type, const std::string& elements) {
    return file_of("{" + entry("w", type, "2", 0, elements.size()) + "}", elements);
}

template <class Number>
std::string numbers_of(const named_tensor& t) {
    std::vector<Number> all(t.bytes.size() / sizeof(Number));
    std::memcpy(all.data(), t.bytes.data(), t.bytes.size());
    return shown_all(all);
}

// "w float32 [2]: 1 2"
reading tensors_of(const std::string& path) {
    const std::string text = data_files::read(path);
    const auto file = std::as_bytes(std::span{text});
    const auto found = adopt_safetensors({file.begin(), file.end()}, path);
    if (!found)
        return refusal(found);
    std::string all;
    for (const named_tensor& t : found->view.tensors)
        all += (all.empty() ? "" : " / ") + t.name + " " + std::string{to_string(t.type)} + " " +
               to_string(t.shape) + ": " +
               (t.type == data_type::float32   ? numbers_of<float>(t)
                : t.type == data_type::float64 ? numbers_of<double>(t)
                : t.type == data_type::int64   ? numbers_of<std::int64_t>(t)
                                               : numbers_of<std::int32_t>(t));
    return {all, {}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(contract_of_weights)

BOOST_AUTO_TEST_CASE(safetensors) {
    using shorts = std::vector<std::uint16_t>;
    const std::string floats = raw_bytes(std::vector<float>{1.5f, -2});
    const std::string f32 = entry("a", "F32", "1", 0, 4);
    const table_of forms{
        "safetensors",
        {
            {"F32", two("F32", floats), "w float32 [2]: 1.5 -2"},
            {"F16", two("F16", raw_bytes(shorts{0x3e00, 1})), "w float32 [2]: 1.5 5.9604645e-08"},
            {"BF16", two("BF16", raw_bytes(shorts{0x3fc0, 0xc000})), "w float32 [2]: 1.5 -2"},
            {"F64", two("F64", raw_bytes(std::vector<double>{0.1, 1e300})),
             "w float64 [2]: 0.1 1e+300"},
            {"I64", two("I64", raw_bytes(std::vector<std::int64_t>{-1, 2})), "w int64 [2]: -1 2"},
            {"I32", two("I32", raw_bytes(std::vector<std::int32_t>{-1, 2})), "w int32 [2]: -1 2"},
            {"metadata",
             file_of("{\"__metadata__\":{\"format\":\"pt\"}," + f32 + "}", floats.substr(0, 4)),
             "a float32 [1]: 1.5"},
            {"blanks behind the header", file_of("{" + f32 + "}     ", floats.substr(0, 4)),
             "a float32 [1]: 1.5"},
            {"tensors in another order",
             file_of("{" + entry("b", "F32", "1", 4, 8) + "," + f32 + "}", floats),
             "a float32 [1]: 1.5 / b float32 [1]: -2"},
            {"counts of batch norms",
             file_of("{" + entry("n.num_batches_tracked", "I64", "", 0, 8) + "," +
                         entry("a", "F32", "1", 8, 12) + "}",
                     std::string(8, '\1') + floats.substr(0, 4)),
             "a float32 [1]: 1.5"},
            {"F8", two("F8_E4M3", "ab"), "",
             "elements of type F8_E4M3; F64, F32, F16, BF16, I64, I32 and U8 can be read: convert "
             "it first, in PyTorch by tensor.float()"},
            {"BOOL", two("BOOL", "ab"), "", "elements of type BOOL; F64, F32"},
            {"metadata that is no text", file_of("{\"__metadata__\":{\"epoch\":3}}", ""), "",
             "its header has a number where none belongs"},
            {"overlapping tensors",
             file_of("{" + f32 + "," + entry("b", "F32", "1", 0, 4) + "}", floats.substr(0, 4)), "",
             "tensor \"b\" overlaps another"},
            {"a hole", file_of("{" + entry("b", "F32", "1", 4, 8) + "}", floats), "",
             "tensor \"b\" leaves a hole before it"},
            {"offsets behind the end", file_of("{" + f32 + "}", ""), "", "lies outside the file"},
            {"offsets that fall", file_of("{" + entry("a", "F32", "1", 4, 0) + "}", floats), "",
             "tensor \"a\""},
            {"a shape of another size", file_of("{" + entry("a", "F32", "3", 0, 8) + "}", floats),
             "", "tensor \"a\""},
            {"more bytes", file_of("{" + f32 + "}", floats), "", "bytes at the end belong to no"},
            {"cut in the header", two("F32", floats).substr(0, 20), "", "shorter than its header"},
            {"the first bytes", std::string("\x40\0\0", 3), "", "shorter than its header"},
            {"nothing", "", "", "shorter than its header"},
            {"torch.save", "PK\x03\x04 and more", "", "write the weights with safetensors.torch"},
            {"torch.save of old", "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 and more", "",
             "a Python pickle; load it in Python"},
            {"Keras", "\x89HDF\r\n\x1a\n and more", "", "an HDF5 file"},
        }};
    forms.check(tensors_of);
}

BOOST_AUTO_TEST_SUITE_END()
