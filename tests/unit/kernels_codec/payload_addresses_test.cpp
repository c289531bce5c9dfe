// Payloads are rows of bytes at any address, as they lie in what comes from the network.
#include <boost/test/unit_test.hpp>

#include <functional>

#include "tests/unit/kernels_codec/all_codecs.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct format {
    std::string name;
    std::size_t bytes;
    std::function<result<void>(operations&, const tensor& x, tensor& to)> encode;
    std::function<result<void>(operations&, const decode_operands&)> decode;
};

format half(std::string name, half_format how, std::size_t elements) {
    return {name, 2 * elements,
            [=](operations& ops, const tensor& x, tensor& to) {
                return ops.run(encode_half{how, x, to});
            },
            [=](operations& ops, const decode_operands& o) {
                return ops.run(decode_half{how, o});
            }};
}

format quantized(std::string name, quantizer q, std::size_t elements) {
    return {name, q.payload_bytes(elements),
            [=](operations& ops, const tensor& x, tensor& to) {
                return ops.run(quantize{q, {1, 2}, x, to});
            },
            [=](operations& ops, const decode_operands& o) {
                return ops.run(dequantize{q, o});
            }};
}

result<void> decode_by_index(operations& ops, const decode_operands& o) {
    return ops.run(decode_sparse{o});
}

std::vector<format> formats_of(const tensor_shape& shape) {
    const std::size_t n = shape.elements();
    return {half("bf16", half_format::bf16, n),
            half("f16", half_format::f16, n),
            quantized("8 bits", {.levels = 127, .bucket = 50}, n),
            quantized("5 bits", {.levels = 15}, n),
            quantized("2 bits", {.levels = 1}, n),
            {"signs", sign_payload_bytes(shape),
             [](operations& ops, const tensor& x, tensor& to) {
                 return ops.run(encode_signs{x, to});
             },
             [](operations& ops, const decode_operands& o) { return ops.run(decode_signs{o}); }},
            {"top", sparse_element_bytes * 20,
             [](operations& ops, const tensor& x, tensor& to) {
                 return ops.run(encode_top{x, to});
             },
             decode_by_index},
            {"at least", sparse_element_bytes * 20,
             [](operations& ops, const tensor& x, tensor& to) {
                 return ops.run(encode_at_least{x, 0.5f, to});
             },
             decode_by_index}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(payload_addresses)

BOOST_AUTO_TEST_CASE(payloads_are_the_same_at_any_address) {
    operand_pool pool{1 << 24};
    const tensor x = random_tensor(pool, {3, 67}, 1);
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        for (const format& f : formats_of(x.shape())) {
            std::vector<tensor> payloads, decoded;
            for (const std::size_t offset : {0u, 1u, 2u, 4u}) {
                payloads.emplace_back(data_type::uint8, tensor_shape{f.bytes},
                                      pool.allocate(f.bytes + offset).value(), offset);
                decoded.push_back(random_tensor(pool, x.shape(), 2 + offset));
                BOOST_REQUIRE(f.encode(*ops, x, payloads.back()).ok());
                BOOST_REQUIRE(f.decode(*ops, {payloads.back(), 0.5f, &x, decoded.back()}).ok());
                const std::string what =
                    backend.name + ", " + f.name + ", moved by " + std::to_string(offset);
                BOOST_TEST(bit_equal(payloads.front(), payloads.back()), what);
                BOOST_TEST(bit_equal(decoded.front(), decoded.back()), what);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
