// TSPLIB's problems: read_tsplib of instance_file.hpp.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "actors/data/files/text_number.hpp"
#include "apps/tsp/instance_file.hpp"
#include "apps/tsp/matrix_part.hpp"
#include "apps/tsp/tsp_limits.hpp"
#include "apps/tsp/tsplib_lines.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::tsp {

namespace {

struct named_weights {
    std::string_view name;
    edge_weights kind;
};
constexpr std::array<named_weights, 7> weight_names{{{"EUC_2D", edge_weights::euclidean},
                                                     {"CEIL_2D", edge_weights::euclidean_up},
                                                     {"MAX_2D", edge_weights::maximum},
                                                     {"MAN_2D", edge_weights::manhattan},
                                                     {"ATT", edge_weights::att},
                                                     {"GEO", edge_weights::geo},
                                                     {"EXPLICIT", edge_weights::matrix}}};

bool begins_with_number(std::string_view line) {
    return text_number(take_word(line)).has_value();
}

// The first number that is not there.
std::string number_between(const std::vector<bool>& is_there) {
    return std::to_string(std::ranges::find(is_there, false) - is_there.begin());
}

std::uint64_t words_in(std::string_view line) {
    std::uint64_t words = 0;
    for (; !line.empty(); ++words)
        take_word(line);
    return words;
}

constexpr std::string_view no_dimension = "the file has no DIMENSION; give the number of cities";

class tsplib_problem {
  public:
    explicit tsplib_problem(line_reader& lines) : lines_{lines} {}

    result<cities_file> read() {
        for (;;) {
            const auto entry = next_entry(lines_);
            if (!entry)
                return entry.failure();
            if (!*entry)
                return finish();
            if (auto taken = take(**entry); !taken)
                return taken.failure();
        }
    }

  private:
    result<void> take(const tsplib_entry& entry);
    result<void> take_type(const std::string& value);
    result<void> take_weights(const std::string& value);
    result<void> take_format(const line_reader& lines, const std::string& value);
    result<void> take_dimension(const line_reader& lines, const std::string& value);
    // Takes the specification that stands behind the section that is read now.
    result<void> look_ahead(const std::string& wanted);
    result<void> expect_dimension();
    result<void> read_points(std::vector<point>& to, const std::string& section);
    result<void> read_matrix();
    result<void> refuse_more(std::string_view line);
    result<std::uint64_t> count_cities(std::uint64_t before);
    error more_cities(std::uint64_t cities) const;
    result<cities_file> finish();

    error fail(const std::string& sentence) const { return lines_.fail(sentence); }

    line_reader& lines_;
    std::set<std::string> keys_; // that have been read
    std::string section_;        // the last one
    std::string name_;
    bool is_asymmetric_ = false;
    std::size_t cities_ = 0;
    std::optional<edge_weights> weights_;
    std::optional<matrix_part> part_;
    std::vector<point> points_, shown_;
    std::vector<std::int32_t> lengths_;
    std::vector<std::string> notes_;
};

result<void> tsplib_problem::take(const tsplib_entry& entry) {
    const auto& [key, value] = entry;
    if (!section_.empty() && key == "-1") // ends the section, as in files of tours
        return {};
    if (!section_.empty() && begins_with_number(key))
        return refuse_more(key);
    if (key != "COMMENT" && !keys_.insert(key).second)
        return fail(key + " stands twice; leave one out");
    if (key == "TYPE")
        return take_type(value);
    if (key == "EDGE_WEIGHT_TYPE")
        return take_weights(value);
    if (key == "EDGE_WEIGHT_FORMAT")
        return take_format(lines_, value);
    if (key == "NODE_COORD_SECTION")
        return read_points(points_, key);
    if (key == "DISPLAY_DATA_SECTION")
        return read_points(shown_, key);
    if (key == "EDGE_WEIGHT_SECTION")
        return read_matrix();
    if (key == "NAME")
        name_ = value;
    else if (key == "DIMENSION")
        return take_dimension(lines_, value);
    else if (key == "FIXED_EDGES_SECTION")
        return fail("fixed edges are not supported; leave the section out");
    else if (key == "NODE_COORD_TYPE" && in_capitals(value) == "THREED_COORDS")
        return fail("coordinates in three dimensions are not supported; give two");
    else if (key != "COMMENT" && key != "NODE_COORD_TYPE" && key != "DISPLAY_DATA_TYPE")
        return fail(troupe::quoted(key) +
                    " is no key of a TSPLIB problem that is supported; leave it out");
    return {};
}

result<void> tsplib_problem::take_type(const std::string& value) {
    // Some files say who has made them in the same line.
    std::string_view rest = value;
    const std::string_view type = take_word(rest);
    if (in_capitals(type) != "TSP" && in_capitals(type) != "ATSP")
        return fail("TYPE " + troupe::quoted(value) + " is not supported; give a TSP or an ATSP");
    is_asymmetric_ = in_capitals(type) == "ATSP";
    return {};
}

result<void> tsplib_problem::take_weights(const std::string& value) {
    const auto* const found =
        std::ranges::find(weight_names, in_capitals(value), &named_weights::name);
    if (found == weight_names.end())
        return fail("EDGE_WEIGHT_TYPE " + troupe::quoted(value) +
                    " is not supported; give EUC_2D, CEIL_2D, MAX_2D, MAN_2D, ATT or GEO, or "
                    "EXPLICIT with a "
                    "matrix of the lengths");
    weights_ = found->kind;
    return {};
}

result<void> tsplib_problem::take_format(const line_reader& lines, const std::string& value) {
    if (in_capitals(value) == "FUNCTION")
        return {};
    part_ = part_named(in_capitals(value));
    if (!part_)
        return lines.fail("EDGE_WEIGHT_FORMAT " + troupe::quoted(value) +
                          " is not supported; give FULL_MATRIX, or UPPER or LOWER with ROW, COL, "
                          "DIAG_ROW or DIAG_COL");
    return {};
}

result<void> tsplib_problem::look_ahead(const std::string& wanted) {
    auto lines = line_reader::open(lines_.name());
    if (!lines)
        return lines.failure();
    for (;;) {
        const auto entry = next_entry(*lines);
        if (!entry)
            return entry.failure();
        if (!*entry)
            return {};
        if ((*entry)->key != wanted)
            continue;
        return wanted == "DIMENSION" ? take_dimension(*lines, (*entry)->value)
                                     : take_format(*lines, (*entry)->value);
    }
}

result<void> tsplib_problem::expect_dimension() {
    if (cities_ == 0)
        if (auto ahead = look_ahead("DIMENSION"); !ahead)
            return ahead;
    return cities_ == 0 ? fail(std::string{no_dimension}) : result<void>{};
}

result<void> tsplib_problem::take_dimension(const line_reader& lines, const std::string& value) {
    const auto cities = read_dimension(lines, value, limits::cities_max);
    if (!cities)
        return cities.failure();
    cities_ = *cities;
    return {};
}

result<void> tsplib_problem::read_points(std::vector<point>& to, const std::string& section) {
    if (auto ready = expect_dimension(); !ready)
        return ready;
    section_ = section;
    if (!lines_.can_hold(cities_ * 6 - 1)) // "1 0 0" and the end of the line
        return fail("the file is too short for " + std::to_string(cities_) +
                    " cities; mend DIMENSION, or give all of them");
    std::vector<bool> is_there(cities_ + 1); // by the numbers in the file, from 0 or from 1
    to.resize(cities_ + 1);
    for (std::size_t i = 0; i < cities_; ++i) {
        const auto line = lines_.next_filled();
        if (!line)
            return line.failure();
        if (!*line || is_end_of_file(**line))
            return fail(counted(i, "city", "cities") + " in " + section + ", but DIMENSION is " +
                        std::to_string(cities_) + "; give all of them");
        std::string_view rest = **line;
        const std::string_view written = take_word(rest);
        const auto number = whole_number(written);
        if (!number || *number > cities_) {
            const error wrong = no_city_number(lines_, written, cities_);
            const auto all = count_cities(i + 1);
            return all && *all > cities_ ? more_cities(*all) : wrong;
        }
        if (is_there[*number])
            return fail("city " + std::to_string(*number) + " stands twice; leave one out");
        is_there[*number] = true;
        for (double point::*axis : {&point::x, &point::y}) {
            const std::string_view word = take_word(rest);
            const auto value = text_number(word);
            if (!value)
                return fail(why_no_number(word));
            if (std::abs(*value) > limits::coordinate_max)
                return fail("the coordinate " + troupe::quoted(word) +
                            " is beyond 1e9; scale all of them");
            to[*number].*axis = *value;
        }
        if (!rest.empty())
            return fail(troupe::quoted(rest) +
                        " behind the coordinates of a city; a line is NUMBER X Y");
    }
    const bool begins_at_0 = is_there.front();
    if (begins_at_0 && is_there.back())
        return fail("the cities of " + section + " are numbered 0 and " + std::to_string(cities_) +
                    ", but not " + number_between(is_there) + "; number them from 1 to " +
                    std::to_string(cities_));
    if (begins_at_0)
        notes_.push_back("the cities of " + section +
                         " are numbered from 0; in tours they are numbered from 1");
    to.erase(begins_at_0 ? std::prev(to.end()) : to.begin());
    return {};
}

result<void> tsplib_problem::read_matrix() {
    if (auto ready = expect_dimension(); !ready)
        return ready;
    if (!part_)
        if (auto ahead = look_ahead("EDGE_WEIGHT_FORMAT"); !ahead)
            return ahead;
    if (!part_)
        return fail("the file has no EDGE_WEIGHT_FORMAT; say how the lengths are written, as by "
                    "FULL_MATRIX");
    section_ = "EDGE_WEIGHT_SECTION";
    if (cities_ > limits::matrix_cities_max)
        return fail("a matrix of more than " + std::to_string(limits::matrix_cities_max) +
                    " cities; give coordinates, or fewer cities");
    const std::uint64_t all = entries_of(*part_, cities_);
    if (!lines_.can_hold(2 * all - 1))
        return fail("the file is too short for a matrix of " + std::to_string(all) +
                    " lengths; mend DIMENSION, or give all of them");
    lengths_.resize(cities_ * cities_);
    std::uint64_t taken = 0;
    std::string_view rest; // of a line: lengths follow each other, with line ends anywhere
    for (std::size_t a = 0; a < cities_; ++a) {
        const columns row = columns_of(*part_, a, cities_);
        for (std::size_t b = row.first; b < row.end; ++b, ++taken) {
            if (rest.empty()) {
                const auto line = lines_.next_filled();
                if (!line)
                    return line.failure();
                if (!*line || is_end_of_file(**line) || looks_like_tsplib(**line))
                    return fail("the matrix has " + counted(taken, "length") + " instead of " +
                                std::to_string(all) + "; give all of them");
                rest = **line;
            }
            const std::string_view word = take_word(rest);
            const auto value = text_number(word);
            if (!value)
                return fail(why_no_number(word));
            if (*value != std::floor(*value) || *value < 0 ||
                *value > static_cast<double>(limits::matrix_length_max))
                return fail("the length " + troupe::quoted(word) +
                            " is not a whole number from 0 to 2147483647; scale all of them");
            const auto length = a == b ? 0 : static_cast<std::int32_t>(*value);
            lengths_[a * cities_ + b] = length;
            if (*part_ != matrix_part::all)
                lengths_[b * cities_ + a] = length;
        }
    }
    return rest.empty() ? result<void>{} : refuse_more(rest);
}

// The lines that follow in the section, and those before.
result<std::uint64_t> tsplib_problem::count_cities(std::uint64_t before) {
    for (std::uint64_t cities = before;; ++cities) {
        const auto line = lines_.next_filled();
        if (!line)
            return line.failure();
        if (!*line || !begins_with_number(**line))
            return cities;
    }
}

error tsplib_problem::more_cities(std::uint64_t cities) const {
    return fail(std::to_string(cities) + " cities in " + section_ + ", but DIMENSION is " +
                std::to_string(cities_) + "; mend DIMENSION, or leave the others out");
}

// Numbers behind those of the section.
result<void> tsplib_problem::refuse_more(std::string_view line) {
    if (section_ != "EDGE_WEIGHT_SECTION") {
        const auto all = count_cities(cities_ + 1);
        return all ? more_cities(*all) : all.failure();
    }
    const error wrong = fail(troupe::quoted(line) + " behind the last length of the matrix; mend "
                                                    "DIMENSION or EDGE_WEIGHT_FORMAT");
    std::uint64_t lengths = entries_of(*part_, cities_) + words_in(line);
    for (;;) {
        const auto more = lines_.next_filled();
        if (!more)
            return more.failure();
        if (!*more || !begins_with_number(**more))
            break;
        lengths += words_in(**more);
    }
    const std::uint64_t cities = cities_of(*part_, lengths);
    return cities == 0
               ? wrong
               : fail(std::to_string(lengths) + " lengths in EDGE_WEIGHT_SECTION, those of " +
                      std::to_string(cities) + " cities, but DIMENSION is " +
                      std::to_string(cities_) + "; mend DIMENSION");
}

result<cities_file> tsplib_problem::finish() {
    if (cities_ == 0)
        return fail(std::string{no_dimension});
    if (!weights_)
        return fail("the file has no EDGE_WEIGHT_TYPE; give EUC_2D, CEIL_2D, ATT, GEO or EXPLICIT");
    if (*weights_ != edge_weights::matrix) {
        if (points_.empty())
            return fail("the file has no NODE_COORD_SECTION; give the coordinates of the cities");
        return cities_file{instance::of_points(std::move(name_), *weights_, std::move(points_)),
                           std::move(notes_)};
    }
    if (lengths_.empty())
        return fail("the file has no EDGE_WEIGHT_SECTION; give the lengths");
    auto made = instance::of_matrix(std::move(name_), std::move(lengths_),
                                    std::move(shown_.empty() ? points_ : shown_));
    if (!made.is_symmetric() && !is_asymmetric_)
        return fail("the matrix is not symmetric, but TYPE is TSP; give TYPE: ATSP");
    return cities_file{std::move(made), std::move(notes_)};
}

} // namespace

result<cities_file> read_tsplib(line_reader& lines) {
    return tsplib_problem{lines}.read();
}

} // namespace troupe::tsp
