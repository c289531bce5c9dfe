#include "apps/tsp/city_pieces.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "actors/data/files/content_hash.hpp"
#include "apps/tsp/instance_file.hpp"
#include "apps/tsp/tsp_limits.hpp"

namespace troupe::tsp {

namespace {

using scheduled::payload;

constexpr std::uint64_t piece_bytes = 1u << 20;
constexpr std::size_t name_bytes_max = 256;

error bad(const std::string& sentence) {
    return {errc::protocol, "a piece of the cities: " + sentence};
}

class city_pieces final : public scheduled::piece_source {
  public:
    city_pieces(instance of, std::uint64_t bytes_max, std::string file,
                std::vector<std::string> notes)
        : of_{std::move(of)}, file_{std::move(file)}, notes_{std::move(notes)},
          rows_at_once_{std::max<std::uint64_t>(1, bytes_max / row_bytes())} {}

    scheduled::data_shape shape() const override {
        return {of_.cities(), 1, of_.cities() * numbers_of_row(), false};
    }
    std::uint64_t row_entries(std::uint64_t) const override { return numbers_of_row(); }
    std::uint64_t row_work(std::uint64_t) const override { return 1; }
    std::uint64_t column_work(std::uint64_t) const override { return 1; }
    std::vector<scheduled::data_digest> digests() const override {
        if (file_.empty())
            return {};
        return {{"data.tsplib", file_, content()}};
    }

    std::vector<std::string> notes() const override { return notes_; }

    result<std::optional<scheduled::rows_piece>> next(std::uint64_t rows_max,
                                                      memory_pool& memory) override {
        const std::uint64_t count = std::min({rows_max, rows_at_once_, of_.cities() - row_});
        if (count == 0)
            return std::optional<scheduled::rows_piece>{};
        auto tensors = tensors_of(count, memory);
        if (!tensors)
            return tensors.failure();
        scheduled::rows_piece piece{row_, count, std::move(*tensors)};
        row_ += count;
        return std::optional{std::move(piece)};
    }
    result<void> rewind() override {
        row_ = 0;
        return {};
    }

  private:
    std::uint64_t numbers_of_row() const {
        return of_.kind() == edge_weights::matrix ? of_.cities() : 2;
    }
    std::uint64_t row_bytes() const {
        const std::uint64_t lengths =
            of_.kind() == edge_weights::matrix ? of_.cities() * sizeof(std::int32_t) : 0;
        return lengths + 2 * sizeof(double);
    }

    std::uint64_t content() const {
        content_hash hash;
        const std::vector<std::int32_t> kind{static_cast<std::int32_t>(of_.kind())};
        hash.add(std::span{kind});
        hash.add(of_.points());
        for (std::uint64_t a = 0; of_.kind() == edge_weights::matrix && a < of_.cities(); ++a) {
            const std::vector<std::int32_t> row = lengths_from(a, 1);
            hash.add(std::span{row});
        }
        return hash.value();
    }
    // Lengths of the ways from some cities to all.
    std::vector<std::int32_t> lengths_from(std::uint64_t first, std::uint64_t count) const {
        std::vector<std::int32_t> lengths;
        lengths.reserve(count * of_.cities());
        for (std::uint64_t a = first; a < first + count; ++a)
            for (std::uint64_t b = 0; b < of_.cities(); ++b)
                lengths.push_back(static_cast<std::int32_t>(
                    of_.length(static_cast<city>(a), static_cast<city>(b))));
        return lengths;
    }

    result<payload> tensors_of(std::uint64_t count, memory_pool& memory) const {
        std::vector<double> points;
        if (!of_.points().empty())
            for (const point& p : of_.points().subspan(row_, count)) {
                points.push_back(p.x);
                points.push_back(p.y);
            }
        std::vector<std::int32_t> lengths;
        if (of_.kind() == edge_weights::matrix)
            lengths = lengths_from(row_, count);
        const std::string name = of_.name().substr(0, name_bytes_max);
        return scheduled::payload_of(memory, std::array{static_cast<std::int32_t>(of_.kind())},
                                     points, lengths,
                                     std::vector<std::uint8_t>(name.begin(), name.end()));
    }

    const instance of_;
    const std::string file_;
    const std::vector<std::string> notes_;
    const std::uint64_t rows_at_once_;
    std::uint64_t row_ = 0; // that comes next
};

} // namespace

std::shared_ptr<scheduled::piece_source> pieces_of(instance of, std::uint64_t piece_bytes_max,
                                                   std::string file,
                                                   std::vector<std::string> notes) {
    return std::make_shared<city_pieces>(std::move(of), piece_bytes_max, std::move(file),
                                         std::move(notes));
}

result<std::shared_ptr<scheduled::piece_source>> open_cities(const std::string& file) {
    auto read = read_cities_file(file);
    if (!read)
        return read.failure();
    for (std::string& note : read->notes)
        note = "data.tsplib: " + note;
    return pieces_of(std::move(read->problem), piece_bytes, file, std::move(read->notes));
}

// ---- back ----

result<void> city_builder::append(const payload& piece) {
    const auto kind = scheduled::read<std::int32_t>(piece, 0, 1, "the kind of lengths");
    const auto points = scheduled::read<double>(piece, 1, "coordinates");
    const auto lengths = scheduled::read<std::int32_t>(piece, 2, "lengths");
    const auto name = scheduled::read<std::uint8_t>(piece, 3, "the name of a problem");
    if (const error* failure = scheduled::first_failure(kind, points, lengths, name))
        return *failure;
    if (cities_ == 0 || kind->front() < 0 ||
        kind->front() > static_cast<std::int32_t>(last_of_edge_weights))
        return bad("its lengths are of a kind that is none");
    const auto weights = static_cast<edge_weights>(kind->front());
    const bool has_lengths = weights == edge_weights::matrix;
    const std::uint64_t rows = has_lengths ? lengths->size() / cities_ : points->size() / 2;
    if (rows == 0 || rows > cities_ - taken_)
        return bad("it has no cities, or more than are missing");
    if (lengths->size() != (has_lengths ? rows * cities_ : 0))
        return bad("its lengths are not those of its cities");
    if (points->size() != 2 * rows && !(has_lengths && points->empty()))
        return bad("its coordinates are not those of its cities");
    const bool is_first = taken_ == 0;
    if (!is_first && (weights != kind_ || points->empty() != points_.empty()))
        return bad("its lengths are of another kind than those before it");
    if (has_lengths && cities_ > limits::matrix_cities_max)
        return bad("its matrix has more cities than there may be");
    const auto is_outside = [](double x) { return !(std::abs(x) <= limits::coordinate_max); };
    if (std::ranges::any_of(*points, is_outside) ||
        std::ranges::any_of(*lengths, [](std::int32_t l) { return l < 0; }) ||
        name->size() > name_bytes_max)
        return bad("its numbers are outside their limits");
    kind_ = weights;
    name_.assign(name->begin(), name->end());
    for (std::size_t i = 0; i < points->size(); i += 2)
        points_.push_back({(*points)[i], (*points)[i + 1]});
    lengths_.insert(lengths_.end(), lengths->begin(), lengths->end());
    taken_ += rows;
    return {};
}

result<instance> city_builder::finish() {
    if (taken_ != cities_ || cities_ < limits::cities_min || cities_ > limits::cities_max)
        return bad("cities are missing, or there are too few or too many");
    if (kind_ == edge_weights::matrix)
        return instance::of_matrix(std::move(name_), std::move(lengths_), std::move(points_));
    return instance::of_points(std::move(name_), kind_, std::move(points_));
}

result<instance> read_cities(scheduled::piece_source& from) {
    city_builder builder{from.shape().rows};
    memory_pool memory{8 * piece_bytes};
    for (;;) {
        auto piece = from.next(piece_bytes, memory);
        if (!piece)
            return piece.failure();
        if (!*piece)
            return builder.finish();
        if (auto taken = builder.append((*piece)->tensors); !taken)
            return taken.failure();
    }
}

} // namespace troupe::tsp
