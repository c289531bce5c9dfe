#include <boost/test/unit_test.hpp>

#include <numeric>

#include "kernels/reference/reference.hpp"
#include "tests/unit/kernels/backends.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// 0, 1, 2... in bytes, `offset` bytes behind the begin of a buffer.
tensor counted(memory_pool& pool, data_type type, const tensor_shape& shape, std::size_t offset) {
    buffer_ref storage = pool.allocate(shape.elements() * size_of(type) + offset).value();
    tensor t{type, shape, storage, offset};
    std::iota(reinterpret_cast<std::uint8_t*>(t.mutable_data()),
              reinterpret_cast<std::uint8_t*>(t.mutable_data()) + t.bytes(), std::uint8_t{0});
    return t;
}

bool same_bytes(const tensor& a, const tensor& b) {
    return std::equal(a.data(), a.data() + a.bytes(), b.data(), b.data() + b.bytes());
}

} // namespace

BOOST_AUTO_TEST_SUITE(shapes)

// Rows that can be copied in units of 16, 4 and 1 bytes, from where they can and from where they cannot.
BOOST_AUTO_TEST_CASE(elements_of_all_types_are_joined_and_separated) {
    operand_pool pool{1 << 20};
    const auto reference = make_reference_operations();
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        for (const auto type : {data_type::float32, data_type::int32, data_type::uint8})
            for (const std::size_t unit : {1, 4, 16})
                for (const std::size_t offset : {0, 4}) {
                    const std::vector<tensor> parts{counted(pool, type, {3, unit, 5}, offset),
                                                    counted(pool, type, {3, 0, 5}, 0),
                                                    counted(pool, type, {3, 2 * unit, 5}, 0)};
                    tensor expected = counted(pool, type, {3, 3 * unit, 5}, 0);
                    tensor given = counted(pool, type, expected.shape(), offset);
                    BOOST_REQUIRE(reference->run(concat{1, 1, parts, expected}).ok());
                    BOOST_REQUIRE(ops->run(concat{1, 1, parts, given}).ok());
                    BOOST_TEST(same_bytes(given, expected), to_string(type)
                                                                << " in units of " << unit
                                                                << " from byte " << offset);
                    std::vector<tensor> again;
                    for (const tensor& part : parts)
                        again.push_back(counted(pool, type, part.shape(), offset));
                    BOOST_REQUIRE(ops->run(split{1, 1, given, again}).ok());
                    for (std::size_t p = 0; p < parts.size(); ++p)
                        BOOST_TEST(same_bytes(again[p], parts[p]),
                                   to_string(type) << " in units of " << unit << " from byte "
                                                   << offset << ": part " << p);
                }
    }
}

BOOST_AUTO_TEST_SUITE_END()
