#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

#include "schemas/base/json.hpp"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(json_values)

BOOST_AUTO_TEST_CASE(maps_are_written_in_the_order_of_their_keys) {
    const std::string name = "stage-0";
    json line = {{"event", "done"}, {"epochs", 4u}, {"loss", 0.25}, {"lost", false}};
    line["stages"].push_back({{"name", name}, {"where", nullptr}});
    line["stages"].push_back(
        {{"name", std::string_view{"stage-1"}}, {"where", json::array({1, -2})}});
    line["epochs"] = 5;
    BOOST_TEST(line.dump() ==
               R"({"event":"done","epochs":5,"loss":0.25,"lost":false,"stages":)"
               R"([{"name":"stage-0","where":null},{"name":"stage-1","where":[1,-2]}]})");
    BOOST_TEST((json{{"a", json::object()}}.dump(2)) == "{\n  \"a\": {}\n}");
    BOOST_TEST(json(std::vector<std::size_t>{}).dump() == "[]");
    BOOST_TEST(json(std::map<std::string, std::uint64_t>{{"b", 1}, {"a", 2}}).dump() ==
               R"({"a":2,"b":1})");
}

BOOST_AUTO_TEST_CASE(numbers_come_back_as_they_were) {
    for (const double number : {0.1, 1e300, 5e-324, -2.5, 9007199254740993.0}) {
        const auto read = json::parse(json(number).dump());
        BOOST_REQUIRE(read);
        BOOST_TEST(read->number().value() == number);
    }
    const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    BOOST_TEST(json::parse(json(most).dump())->count().value() == most);
    const std::int64_t least = std::numeric_limits<std::int64_t>::min();
    BOOST_TEST(json::parse(json(least).dump())->integer().value() == least);
    BOOST_TEST(json(std::nan("")).dump() == "null");
    BOOST_TEST(json(-INFINITY).dump() == "null");
}

BOOST_AUTO_TEST_CASE(values_of_another_type_are_none) {
    const json text{"7"}, minus{-1}, real{1.5}, whole{300};
    BOOST_TEST(!text.count());
    BOOST_TEST(!text.number());
    BOOST_TEST(!minus.count());
    BOOST_TEST(!real.count());
    BOOST_TEST(!real.integer());
    BOOST_TEST(whole.count<std::uint8_t>().has_value() == false);
    BOOST_TEST(whole.count(299u).has_value() == false);
    BOOST_TEST(whole.count(300u).value() == 300u);
    BOOST_TEST(!json(true).number());
    BOOST_TEST(!json::parse(R"(["a", 1])")->texts());
    BOOST_TEST(json::parse(R"(["a", "b"])")->texts().value().size() == 2u);
    BOOST_TEST((whole["key"] == nullptr));
    BOOST_TEST(whole.size() == 0u);
}

BOOST_AUTO_TEST_CASE(values_are_equal_by_what_they_are) {
    BOOST_TEST((json(1) == 1.0));
    BOOST_TEST((json(1) == json(1u)));
    BOOST_TEST((json("a") == "a"));
    BOOST_TEST((json("1") != json(1)));
    BOOST_TEST((json(nullptr) != json(0)));
    BOOST_TEST((*json::parse(R"({"a": [1, {"b": null}]})") ==
                json{{"a", json::array({1, json{{"b", nullptr}}})}}));
}

BOOST_AUTO_TEST_CASE(text_that_is_no_json_is_none) {
    for (const char* text : {"", "{", "[1,]", "1 2", "{\"a\" 1}", "nul", "\"\x80\"", "'a'"})
        BOOST_TEST(!json::parse(text), text);
    BOOST_TEST(json::parse(R"({"a": 1, "a": 2})")->dump() == R"({"a":2})");
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    BOOST_TEST(json::parse(nested(json::depth_max)).has_value());
    BOOST_TEST(!json::parse(nested(json::depth_max + 1)).has_value());
    BOOST_TEST(!json::parse(std::string(1u << 20, '[')).has_value());
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_utf8_are_replaced) {
    BOOST_TEST(json("a\xff").dump() == "\"a\xEF\xBF\xBD\"");
    BOOST_TEST(json("\xC3\xA9\x1b").dump(-1, true) == R"("\u00e9\u001b")");
}

BOOST_AUTO_TEST_CASE(maps_are_changed_by_key) {
    json map{{"a", 1}, {"b", 2}};
    map.update({{"b", 3}, {"c", 4}});
    map.erase("a");
    map.erase("none");
    BOOST_TEST(map.dump() == R"({"b":3,"c":4})");
    BOOST_TEST(map.contains("c"));
    BOOST_TEST((map.find("a") == nullptr));
}

BOOST_AUTO_TEST_SUITE_END()
