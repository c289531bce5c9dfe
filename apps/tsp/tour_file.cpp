#include "apps/tsp/tour_file.hpp"

#include <algorithm>
#include <fstream>
#include <functional>

#include "actors/data/files/line_reader.hpp"
#include "actors/data/files/text_number.hpp"
#include "actors/scheduled/written_files.hpp"
#include "apps/tsp/tsp_limits.hpp"
#include "apps/tsp/tsplib_lines.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::tsp {

namespace {

constexpr double picture_side = 1000;
constexpr double picture_margin = 10;

// The cities from here on to -1, or to the end of the file.
result<std::vector<city>> read_order(line_reader& lines, std::size_t cities) {
    std::vector<city> tour;
    std::vector<bool> is_there(cities);
    for (bool has_ended = false; !has_ended;) {
        const auto line = lines.next_filled();
        if (!line)
            return line.failure();
        if (!*line || is_end_of_file(**line))
            break;
        std::string_view rest = **line;
        while (!rest.empty() && !has_ended) {
            const std::string_view word = take_word(rest);
            if (word == "-1") {
                has_ended = true;
                continue;
            }
            const auto number = read_city_number(lines, word, cities);
            if (!number)
                return number.failure();
            if (is_there[*number])
                return lines.fail("city " + std::to_string(*number + 1) +
                                  " stands twice; a tour visits each city once");
            is_there[*number] = true;
            tour.push_back(static_cast<city>(*number));
        }
    }
    if (tour.size() != cities)
        return lines.fail("the tour visits " + counted(tour.size(), "city", "cities") +
                          " instead of " + std::to_string(cities) +
                          "; give the tour of this problem");
    return tour;
}

// As they are drawn: y upwards. Of cities on a globe x is the latitude.
std::vector<point> on_paper(const instance& of) {
    std::vector<point> points{of.points().begin(), of.points().end()};
    if (of.kind() == edge_weights::geo)
        for (point& p : points)
            std::swap(p.x, p.y);
    return points;
}

// By way of another file, which takes the place of what is there once it is whole.
result<void> write_whole(const std::filesystem::path& path,
                         const std::function<void(std::ofstream&)>& write) {
    std::filesystem::path part = path;
    part += ".part";
    if (auto written = scheduled::write_file(part, write); !written)
        return written;
    std::error_code failed;
    std::filesystem::rename(part, path, failed);
    if (failed)
        return error{errc::io, path.string() + ": cannot be written: " + failed.message()};
    return {};
}

} // namespace

result<std::vector<city>> read_tour(const std::string& path, const instance& of) {
    auto lines = line_reader::open(path);
    if (!lines)
        return lines.failure();
    for (;;) {
        const auto entry = next_entry(*lines);
        if (!entry)
            return entry.failure();
        if (!*entry)
            return lines->fail("the file has no TOUR_SECTION; give a .tour of TSPLIB");
        const auto& [key, value] = **entry;
        if (key == "TOUR_SECTION")
            return read_order(*lines, of.cities());
        if (key == "TYPE" && value != "TOUR")
            return lines->fail("TYPE " + troupe::quoted(value) + " is no TOUR");
        if (key == "DIMENSION") {
            const auto cities = read_dimension(*lines, value, limits::cities_max);
            if (!cities)
                return cities.failure();
            if (*cities != of.cities())
                return lines->fail("a tour of " + counted(*cities, "city", "cities") +
                                   ", but the problem has " + std::to_string(of.cities()) +
                                   "; give the tour of this problem");
        }
    }
}

result<void> write_tour(const std::filesystem::path& path, const instance& of,
                        std::span<const city> tour) {
    return write_whole(path, [&](std::ofstream& f) {
        f << "NAME : " << path.filename().string() << "\nCOMMENT : Length " << of.length_of(tour)
          << "\nTYPE : TOUR\nDIMENSION : " << tour.size() << "\nTOUR_SECTION\n";
        for (const city c : tour)
            f << c + 1 << '\n';
        f << "-1\nEOF\n";
    });
}

result<void> write_picture(const std::filesystem::path& path, const instance& of,
                           std::span<const city> tour) {
    TROUPE_CHECK(!of.points().empty(), "cities are drawn where they have points");
    const std::vector<point> points = on_paper(of);
    const auto [left, right] = std::ranges::minmax(points, {}, &point::x);
    const auto [low, high] = std::ranges::minmax(points, {}, &point::y);
    const double span = std::max({right.x - left.x, high.y - low.y, 1e-9});
    const double scale = picture_side / span;
    const double width = (right.x - left.x) * scale + 2 * picture_margin;
    const double height = (high.y - low.y) * scale + 2 * picture_margin;
    const double radius =
        std::clamp(picture_side / 4 / std::sqrt(static_cast<double>(points.size())), 0.2, 4.0);
    const auto write_place = [&, x = left.x, y = high.y](std::ofstream& f, city c) {
        const point& p = points[static_cast<std::size_t>(c)];
        f << scheduled::text_of(static_cast<float>(picture_margin + (p.x - x) * scale)) << ','
          << scheduled::text_of(static_cast<float>(picture_margin + (y - p.y) * scale)) << ' ';
    };
    return write_whole(path, [&](std::ofstream& f) {
        f << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << width << ' ' << height
          << "\">\n<title>" << tour.size() << " cities, length " << of.length_of(tour)
          << "</title>\n<defs><marker id=\"city\" markerUnits=\"userSpaceOnUse\" "
             "overflow=\"visible\">"
          << "<circle r=\"" << radius << "\" fill=\"#c33\"/></marker></defs>\n"
          << "<polygon fill=\"none\" stroke=\"#235\" stroke-width=\"" << radius / 2
          << "\" marker-start=\"url(#city)\" marker-mid=\"url(#city)\" points=\"";
        for (const city c : tour)
            write_place(f, c);
        f << "\"/>\n</svg>\n";
    });
}

} // namespace troupe::tsp
