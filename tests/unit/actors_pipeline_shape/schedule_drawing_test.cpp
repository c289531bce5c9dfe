#include <boost/test/unit_test.hpp>

#include "actors/pipeline/shape/schedule_drawing.hpp"
#include "schemas/base/json.hpp"
#include "tests/unit/actors_pipeline_shape/tables.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

drawing_options drawn(const timeline_options& times, std::uint32_t minibatches = 1,
                      std::size_t columns = 80) {
    return {.times = times, .minibatches = minibatches, .columns = columns};
}

} // namespace

BOOST_AUTO_TEST_SUITE(schedule_drawing)

BOOST_AUTO_TEST_CASE(text_shows_steps_over_time) {
    BOOST_TEST(draw_text(made("zero_bubble", {.devices = 2, .microbatches = 2}),
                         drawn(times(1, 1, 1))) == "device 0 F0 F1 ...I0 W0 I1 W1\n"
                                                   "device 1 ...F0 I0 F1 I1 W0 W1\n");
    // A hop, a backward of another length, and two stages a device, whose times are halves.
    BOOST_TEST(draw_text(made("interleaved", {.devices = 2, .microbatches = 2}),
                         drawn(times(2, 2, 2, 1))) ==
               "device 0 0F0 0F1 ........2F0 2F1 ................2B0     ....2B1     ....0B0\n"
               "device 1 ........1F0 1F1 ........3F0 3B0     3F1 3B1     ....1B0     ....1B1\n\n"
               "device 0  ....0B1\n"
               "device 1  ............\n");
}

BOOST_AUTO_TEST_CASE(text_fits_its_columns) {
    for (const schedule_row& row : schedule_rows()) {
        const auto table = make_table(row.name, {.devices = 4, .microbatches = 12});
        BOOST_REQUIRE(table.ok());
        std::istringstream text{
            draw_text(*table, drawn(times(1, {6, 5}, {4, 5}), minibatches_to_draw(*table)))};
        std::size_t lines = 0;
        for (std::string line; std::getline(text, line); ++lines)
            BOOST_TEST(line.size() <= 80u, line);
        BOOST_TEST(lines >= 4u);
    }
    BOOST_TEST(draw_text(made("gpipe", {.microbatches = 4}), drawn(times(1, 1, 1), 1, 40)) ==
               "device 0 F0 F1 F2 F3 B3    B2    B1\n\ndevice 0 B0\n");
}

BOOST_AUTO_TEST_CASE(microbatches_are_counted_through_the_epoch) {
    BOOST_TEST(draw_text(made("pipedream", {.devices = 2}), drawn(times(1, 1, 1), 3)) ==
               "device 0 F0 F1 ......B0    F2 B1    ...B2\n"
               "device 1 ...F0 B0    F1 B1    F2 B2    ......\n");
}

BOOST_AUTO_TEST_CASE(traces_and_pictures_have_every_step) {
    const schedule_table table = made("zero_bubble", {.devices = 3, .microbatches = 4});
    const auto trace = json::parse(draw_trace(table, drawn(times(1, {1, 2}, {1, 4}))));
    BOOST_REQUIRE(trace.has_value());
    const json* events = trace->find("traceEvents");
    BOOST_REQUIRE(events != nullptr);
    BOOST_TEST(events->size() == 3u + 3 * 12);
    const std::string svg = draw_svg(table, drawn(times(1, 1, 1)));
    std::size_t boxes = 0;
    for (std::size_t at = svg.find("<rect"); at != std::string::npos;
         at = svg.find("<rect", at + 1))
        ++boxes;
    BOOST_TEST(boxes == 3u * 12);
    BOOST_TEST(svg.ends_with("</svg>\n"));
}

BOOST_AUTO_TEST_SUITE_END()
