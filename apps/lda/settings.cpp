#include "apps/lda/settings.hpp"

#include <string>

#include <kj/exception.h>

#include "apps/lda/lda.capnp.h"
#include "apps/lda/lda_limits.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::lda {

namespace {

error wrong(const std::string& key, const std::string& sentence) {
    return {errc::usage, key + ": " + sentence};
}

sampler_kind sampler_of(proto::LdaSampler named, std::uint32_t topics) {
    const bool is_auto = named == proto::LdaSampler::AUTO;
    return named == proto::LdaSampler::METROPOLIS || (is_auto && topics > limits::exact_topics_max)
               ? sampler_kind::metropolis
               : sampler_kind::exact;
}

bool is_prior(double p) {
    return p > 0 && p <= 1000;
}

result<void> check_run(const scheduled::program_site& site) {
    if (site.schedule.kind != scheduled::schedule_kind::rotation)
        return wrong("schedule", "the counts of words pass from worker to worker; use schedule: "
                                 "rotation");
    if (site.unit_norm)
        return wrong("data.scale", "topics are of counts, which must not be scaled; leave it out");
    if (site.stop.sweeps == 0 && site.stop.phases == 0 && site.stop.seconds <= 0)
        return wrong("stop",
                     "sampling has no gap that it could stop at; give stop.sweeps, such as 200");
    return {};
}

} // namespace

result<lda_settings> read_settings(capnp::AnyPointer::Reader settings) {
    try {
        const auto reader = settings.getAs<proto::LdaSettings>();
        lda_settings s;
        s.topics = reader.getTopics();
        s.priors = {reader.getAlpha(), reader.getBeta()};
        s.sampler = sampler_of(reader.getSampler(), s.topics);
        s.proposals = reader.getProposals();
        if (s.topics >= 2 && s.topics <= limits::topics_max && is_prior(s.priors.alpha) &&
            is_prior(s.priors.beta) && s.proposals >= 1 && s.proposals <= 64)
            return s;
    } catch (const kj::Exception&) {
    }
    return error{errc::protocol, "the settings of lda are not what this build knows by that name"};
}

result<void> check(const scheduled::program_site& site) {
    auto read = read_settings(site.settings);
    if (!read)
        return read.failure();
    if (auto fits = check_run(site); !fits)
        return fits;
    const std::uint64_t words = site.data.columns;
    if (site.data.rows == 0 || words == 0)
        return wrong("data", "the data is empty; there is nothing to find topics of");
    if (words > limits::counts_max / read->topics)
        return wrong("topics", std::to_string(read->topics) + " topics of " +
                                   std::to_string(words) +
                                   " words make a result of more than 8 GiB; use at most " +
                                   counted(limits::counts_max / words, "topic") +
                                   ", or leave out rare words");
    return {};
}

std::vector<scheduled::doubtful_key> doubts(const scheduled::program_site& site) {
    const auto read = read_settings(site.settings);
    if (!read)
        return {};
    std::vector<scheduled::doubtful_key> keys{
        {"stop.gap", "not used: sampling has no gap; leave it out"}};
    if (read->sampler == sampler_kind::exact)
        keys.push_back({"program.lda.proposals", "not used by the exact sampler, which makes none; "
                                                 "leave it out, or give sampler: metropolis"});
    const bool has_fewer_words = site.data.columns < site.data.rows;
    const std::uint64_t count = has_fewer_words ? site.data.columns : site.data.rows;
    const std::string of = has_fewer_words ? "words" : "documents";
    if (read->topics > count)
        keys.push_back({"program.lda.topics",
                        std::to_string(read->topics) + " topics of " + std::to_string(count) + " " +
                            of + ": most will say nothing, or the same as others; give fewer " +
                            "topics than " + of});
    return keys;
}

} // namespace troupe::lda
