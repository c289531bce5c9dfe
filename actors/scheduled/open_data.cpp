#include "actors/scheduled/open_data.hpp"

#include <set>

#include <capnp/schema.h>

#include "actors/data/files/content_hash.hpp"
#include "actors/data/files/input_file.hpp"
#include "actors/data/sparse/documents.hpp"
#include "actors/data/sparse/ratings.hpp"
#include "actors/data/sparse/text_words.hpp"
#include "actors/scheduled/matrix_pieces.hpp"
#include "actors/scheduled/sparse_pieces.hpp"
#include "schemas/base/nearest.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::scheduled {

namespace {

using opened_data = result<std::shared_ptr<piece_source>>;

constexpr std::uint64_t piece_bytes = 1u << 20;
constexpr std::uint64_t block_bytes = 2 * piece_bytes; // of a matrix in float64, dealt as float32
constexpr const char* target_column_key = "data.matrix.target_column";

data_digest digest_of(const named_file& file, std::uint64_t value) {
    return {file.key, file.path, value};
}

// --- matrices

matrix_settings settings_of(proto::ProgramData::Reader data) {
    matrix_settings settings;
    if (data.isIdx()) {
        settings.features = {data.getIdx().getImages().cStr(), "data.idx.images"};
        settings.targets = {data.getIdx().getLabels().cStr(), "data.idx.labels"};
        return settings;
    }
    const auto matrix = data.getMatrix();
    settings.features = {matrix.getFeatures().cStr(), "data.matrix.features"};
    if (matrix.hasTargets())
        settings.targets = {matrix.getTargets().cStr(), "data.matrix.targets"};
    if (matrix.hasTargetColumn())
        settings.target_column = matrix.getTargetColumn().cStr();
    if (matrix.getHeader() != proto::CsvHeader::AUTO)
        settings.has_header = matrix.getHeader() == proto::CsvHeader::YES;
    return settings;
}

// The column that is asked of a file is what does not fit it.
error at_its_key(const error& why, const matrix_settings& settings) {
    const std::string found = settings.features.key + ": ";
    if (why.code() != errc::usage || settings.target_column.empty() ||
        !why.message().starts_with(found))
        return why;
    return {why.code(), target_column_key + (": " + why.message().substr(found.size()))};
}

// "column 3", or "columns 3, 4, 5 and 2 more", by their names where they have any.
std::string names_of(const few_columns& some, const matrix_shape& shape) {
    std::vector<std::string> columns;
    for (const std::size_t j : some.first)
        columns.push_back(shape.column_names.empty() ? std::to_string(j)
                                                     : '"' + shape.column_names[j] + '"');
    const std::size_t more = some.count - columns.size();
    return (some.count > 1 ? "columns " : "column ") + join(columns) +
           (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

void note_coarse(const matrix_shape& shape, const std::string& key,
                 std::vector<std::string>& notes) {
    if (shape.coarse_in_float32.count > 0)
        notes.push_back(key + ": the numbers that are kept (float32) of the " +
                        names_of(shape.coarse_in_float32, shape) + " are off by up to " +
                        two_digits(shape.lost_share_max) +
                        " of its spread; subtract a number near its mean in the file, or scale "
                        "it");
    if (shape.coarse_in_float64.count > 0)
        notes.push_back(key + ": the numbers of the " + names_of(shape.coarse_in_float64, shape) +
                        " are so far from 0 that float64, in which they are read and summed, has "
                        "few digits left for what they differ by; subtract a number near its mean "
                        "in the file");
}

std::vector<std::string> notes_on(const matrix_source& source, const matrix_settings& settings) {
    const matrix_shape& shape = source.shape();
    std::vector<std::string> notes = source.notes();
    if (shape.rows > 1 && shape.same_target)
        notes.push_back((!settings.targets.path.empty()    ? settings.targets.key
                         : !settings.target_column.empty() ? std::string{target_column_key}
                                                           : settings.features.key) +
                        ": all rows have the same target, so that no column says anything of it");
    note_coarse(shape, settings.features.key, notes);
    std::set<std::string_view> seen;
    for (const std::string& name : shape.column_names)
        if (!seen.insert(name).second) {
            notes.push_back(settings.features.key + ": two columns have the name \"" + name +
                            "\", which results do not tell apart");
            break;
        }
    return notes;
}

// The digest of the numbers as they are dealt. Former builds dealt sparse columns as they are: their runs cannot go on with
// what is less an offset.
std::uint64_t digest_of_dealt(const matrix_source& source) {
    const matrix_shape& shape = source.shape();
    const std::uint64_t exact = source.exact_digest();
    if (!shape.is_sparse || shape.offsets.empty())
        return exact;
    content_hash hash;
    hash.add(std::span{&exact, 1});
    hash.add(std::span{shape.offsets});
    return hash.value();
}

opened_data open_matrix_of(proto::ProgramData::Reader data, const data_use& use) {
    matrix_settings settings = settings_of(data);
    settings.needs_target_column = !use.ignores_targets;
    settings.rule = use.rule;
    settings.takes_offsets = use.takes_offsets;
    settings.takes_remainders = use.takes_remainders;
    if (!use.file.empty())
        settings.features = {use.file, "--data"};
    if (use.ignores_targets)
        settings.targets = {};
    auto source = open_matrix(settings);
    if (!source)
        return at_its_key(source.failure(), settings);
    if (use.needs_targets && !source->shape().has_targets)
        return error{errc::usage, settings.features.key +
                                      ": has no targets, which the program needs; name them by "
                                      "data.matrix.targets or data.matrix.target_column"};
    matrix_facts facts{.digests = {digest_of(settings.features, source->digest())},
                       .notes = notes_on(*source, settings)};
    if (!settings.targets.path.empty())
        facts.digests.push_back(digest_of(settings.targets, source->targets_digest()));
    facts.digests.front().exact = digest_of_dealt(*source);
    facts.digests.front().has_more_digits =
        !source->shape().offsets.empty() || source->shape().has_remainders;
    return pieces_of(std::move(*source), block_bytes, std::move(facts));
}

// --- documents

// The name that Snowball has for it.
std::string language_of(proto::Stemming stems) {
    if (stems == proto::Stemming::NONE)
        return {};
    const auto words = capnp::Schema::from<proto::Stemming>().getEnumerants();
    return words[static_cast<unsigned>(stems)].getProto().getName().cStr();
}

document_settings settings_of(proto::DocumentsData::Reader data) {
    document_settings settings;
    if (data.isCounts()) {
        settings.format = document_format::counts;
        settings.source = {data.getCounts().cStr(), "data.documents.counts"};
    } else if (data.isText()) {
        settings.format = document_format::text;
        settings.source = {data.getText().cStr(), "data.documents.text"};
    } else if (data.isLines()) {
        settings.format = document_format::lines;
        settings.source = {data.getLines().cStr(), "data.documents.lines"};
    } else {
        settings.format = document_format::dictionary;
        settings.source = {data.getDictionary().cStr(), "data.documents.dictionary"};
    }
    if (data.hasVocabulary())
        settings.vocabulary = {data.getVocabulary().cStr(), "data.documents.vocabulary"};
    settings.words.has_english_stop_words = data.getStopWords() == proto::StopWords::ENGLISH;
    if (data.hasStopWordsFile())
        settings.words.stop_words = {data.getStopWordsFile().cStr(),
                                     "data.documents.stop_words_file"};
    settings.words.length_min = data.getLengthMin();
    settings.words.stems = language_of(data.getStem());
    settings.bounds = {data.getDocumentsMin(), data.getDocumentsMaxShare(), data.getWordsMax()};
    return settings;
}

std::uint64_t hash_of(const documents& all) {
    content_hash hash;
    for (const std::string& word : all.words)
        hash.add(word);
    hash.add(std::span{all.counts.starts});
    hash.add(std::span{all.counts.indices});
    hash.add(std::span{all.counts.values});
    return hash.value();
}

// Which words there are in documents follows from the lists, which come first.
result<std::vector<data_digest>> digests_of(const document_settings& settings,
                                            const documents& all) {
    std::vector<data_digest> digests;
    for (const named_file* list : {&settings.vocabulary, &settings.words.stop_words}) {
        if (list->path.empty())
            continue;
        const auto read = read_whole(list->path);
        if (!read)
            return read.failure().in(list->key);
        content_hash hash;
        hash.add(std::span{read->bytes});
        digests.push_back(digest_of(*list, hash.value()));
    }
    digests.push_back(digest_of(settings.source, hash_of(all)));
    return digests;
}

opened_data open_documents(proto::DocumentsData::Reader data, const data_use& use) {
    document_settings settings = settings_of(data);
    if (!use.file.empty()) {
        settings.source = {use.file, "--data"};
        settings.bounds = {}; // the result has a vocabulary, which few documents are not to narrow
    }
    auto read = read_documents(settings);
    if (!read)
        return read.failure();
    auto digests = digests_of(settings, *read);
    if (!digests)
        return digests.failure();
    sparse_data held;
    held.digests = std::move(*digests);
    held.rows = std::move(read->counts);
    held.columns = read->words.size();
    held.row_names = read->row_names();
    held.column_names = std::move(read->words);
    held.work = work_of_entry::value;
    if (read->left_out > 0)
        held.notes.push_back(settings.source.key + ": " + std::to_string(read->left_out) + " of " +
                             std::to_string(held.rows.rows() + read->left_out) +
                             " documents have no words that are kept, and are left out");
    if (read->words_too_long > 0)
        held.notes.push_back(settings.source.key + ": " + why_too_long(read->words_too_long));
    return pieces_of(std::move(held), piece_bytes);
}

// --- ratings

std::vector<std::string> as_text(const std::vector<std::uint64_t>& numbers) {
    std::vector<std::string> all;
    all.reserve(numbers.size());
    for (const std::uint64_t number : numbers)
        all.push_back(std::to_string(number));
    return all;
}

// By the numbers in the file, as which users and items there are depends on the other file, too.
std::uint64_t hash_of(const sparse_rows& rows, const ratings& all) {
    content_hash hash;
    std::vector<std::uint64_t> items;
    for (std::uint64_t row = 0; row < rows.rows(); ++row) {
        const auto first = static_cast<std::size_t>(rows.starts[row]);
        const auto count = static_cast<std::size_t>(rows.starts[row + 1]) - first;
        if (count == 0)
            continue;
        items.assign(1, all.users[row]);
        for (const std::int32_t item : std::span{rows.indices}.subspan(first, count))
            items.push_back(all.items[static_cast<std::size_t>(item)]);
        hash.add(std::span{items});
        hash.add(std::span{rows.values}.subspan(first, count));
    }
    return hash.value();
}

opened_data open_ratings(proto::RatingsData::Reader data, const data_use& use) {
    rating_settings settings;
    settings.train = {data.getTrain().cStr(), "data.ratings.train"};
    if (!use.file.empty())
        settings.train = {use.file, "--data"};
    else if (data.hasTest())
        settings.test = {data.getTest().cStr(), "data.ratings.test"};
    auto read = read_ratings(settings);
    if (!read)
        return read.failure();
    sparse_data held;
    held.digests.push_back(digest_of(settings.train, hash_of(read->train, *read)));
    if (read->test)
        held.digests.push_back(digest_of(settings.test, hash_of(*read->test, *read)));
    held.rows = std::move(read->train);
    held.held_out = std::move(read->test);
    held.columns = read->items.size();
    held.column_names = as_text(read->items);
    held.row_names = as_text(read->users);
    held.notes = std::move(read->notes);
    return pieces_of(std::move(held), piece_bytes);
}

} // namespace

opened_data open_data(proto::ProgramData::Reader data, const data_use& use) {
    if (data.isTsplib() != (use.open_cities != nullptr))
        return error{errc::usage,
                     data.isTsplib()
                         ? "data.tsplib: has cities, with which the program cannot do anything; "
                           "give it a matrix, documents or ratings"
                         : "data: has no cities, which the program needs; name a file of them by "
                           "data.tsplib"};
    if (data.isTsplib()) {
        auto cities = use.open_cities(use.file.empty() ? data.getTsplib().cStr() : use.file);
        if (!cities)
            return cities.failure().in(use.file.empty() ? "data.tsplib" : "--data");
        return cities;
    }
    if (data.isMatrix() || data.isIdx())
        return open_matrix_of(data, use);
    const std::string key = data.isDocuments() ? "data.documents" : "data.ratings";
    if (use.needs_targets)
        return error{errc::usage, key + ": has no targets, which the program needs; give it a "
                                        "matrix that has, as data.matrix"};
    if (data.isDocuments())
        return open_documents(data.getDocuments(), use);
    return open_ratings(data.getRatings(), use);
}

} // namespace troupe::scheduled
