#include "apps/factorization/settings.hpp"

#include <algorithm>
#include <string>

#include <kj/exception.h>

#include "apps/factorization/factorization.capnp.h"
#include "apps/factorization/factorization_limits.hpp"

namespace troupe::factorization {

namespace {

factorization_settings settings_of(proto::FactorizationSettings::Reader reader) {
    factorization_settings s;
    s.rank = reader.getRank();
    s.by = reader.getBy() == proto::FactorizationMethod::COORDINATES ? method::coordinates
                                                                     : method::sgd;
    s.has_biases = reader.getBiases();
    s.penalty = reader.getPenalty();
    s.rate = reader.getRate();
    s.decay = reader.getDecay();
    s.rankings = reader.getRankings();
    return s;
}

error wrong(const std::string& key, const std::string& sentence) {
    return {errc::usage, key + ": " + sentence};
}

} // namespace

result<factorization_settings> read_settings(capnp::AnyPointer::Reader settings) {
    try {
        const auto s = settings_of(settings.getAs<proto::FactorizationSettings>());
        if (s.rank >= 1 && s.rank <= 4096 && s.penalty >= 0 && s.rate > 0 && s.decay >= 0 &&
            s.decay < 1)
            return s;
    } catch (const kj::Exception&) {
    }
    return error{errc::protocol,
                 "the settings of factorization are not what this build knows by that name"};
}

result<void> check(const scheduled::program_site& site) {
    const auto read = read_settings(site.settings);
    if (!read)
        return read.failure();
    const factorization_settings& s = *read;
    using scheduled::schedule_kind;
    if (s.by == method::sgd && site.schedule.kind != schedule_kind::rotation)
        return wrong("by", "sgd works on blocks of items that pass from worker to worker; write "
                           "schedule: {rotation: {}}, or by: coordinates");
    if (s.by == method::coordinates && site.schedule.kind != schedule_kind::cyclic)
        return wrong("by", "coordinates changes the items of one factor after the other; write "
                           "schedule: {cyclic: {}}, or by: sgd");
    const scheduled::data_shape& data = site.data;
    if (data.entries == 0)
        return wrong("data", "the data has no ratings; there is nothing to fit");
    if (!data.is_sparse)
        return wrong("data", "the ratings are a dense matrix, in which every user has rated every "
                             "item; give a file that leaves out those that are missing");
    if (site.unit_norm)
        return wrong("data.scale", "ratings whose columns are divided by their norms predict no "
                                   "ratings; leave it out");
    if (std::max(data.rows, data.columns) > limits::rows_max)
        return wrong("data", "the ratings are of more than 2147483647 users or items");
    if (std::max(data.rows, data.columns) > limits::factors_max / s.rank)
        return wrong("rank",
                     "the factors of all users, or of all items, are more than 1 TiB; use a "
                     "rank of at most " +
                         std::to_string(limits::factors_max / std::max(data.rows, data.columns)));
    for (const scheduled::number_range& block : site.blocks)
        if (s.by == method::sgd && block.count > limits::block_factors_max / s.rank)
            return wrong("rank", "the factors of a block of " + std::to_string(block.count) +
                                     " items are a message of more than 1 GiB; use a smaller rank, "
                                     "or more schedule.rotation.blocks_per_worker");
    return {};
}

std::vector<scheduled::doubtful_key> doubts(const scheduled::program_site& site) {
    const auto read = read_settings(site.settings);
    if (!read || read->by == method::sgd)
        return {};
    const std::string why = "not used by coordinates, whose steps are the best for their factor; "
                            "leave it out, or give by: sgd";
    return {{"program.factorization.rate", why}, {"program.factorization.decay", why}};
}

} // namespace troupe::factorization
