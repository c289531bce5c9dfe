#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include "apps/lda/lda.capnp.h"
#include "apps/lda/lda.hpp"
#include "apps/lda/settings.hpp"

using namespace troupe;
using namespace troupe::lda;

namespace {

struct described {
    capnp::MallocMessageBuilder message;
    proto::LdaSettings::Builder settings = message.initRoot<proto::LdaSettings>();

    described() { settings.setTopics(20); }
    scheduled::program_site site() {
        scheduled::program_site s;
        s.settings = message.getRoot<capnp::AnyPointer>().asReader();
        s.data = {1000, 500, 10000, true};
        s.schedule.kind = scheduled::schedule_kind::rotation;
        s.stop.gap = 1e-6;
        s.stop.sweeps = 10;
        s.workers = 1;
        s.variables = {{0, 500}};
        return s;
    }
    static std::string refusal(const scheduled::program_site& site) {
        const auto fits = lda_program().check(site);
        BOOST_REQUIRE(!fits.ok());
        BOOST_TEST((fits.failure().code() == errc::usage));
        return fits.failure().message();
    }
};

bool says(const std::string& sentence, const std::string& part) {
    return sentence.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(lda_settings_of_app_files)

BOOST_AUTO_TEST_CASE(are_read_with_their_defaults) {
    described d;
    const auto s = read_settings(d.site().settings);
    BOOST_REQUIRE(s.ok());
    BOOST_TEST(s->topics == 20u);
    BOOST_TEST(s->priors.alpha == 0.1);
    BOOST_TEST(s->priors.beta == 0.01);
    BOOST_TEST((s->sampler == sampler_kind::exact));
    BOOST_TEST(s->proposals == 1u);
    d.settings.setTopics(5001);
    BOOST_TEST((read_settings(d.site().settings)->sampler == sampler_kind::metropolis));
    d.settings.setSampler(proto::LdaSampler::EXACT);
    BOOST_TEST((read_settings(d.site().settings)->sampler == sampler_kind::exact));
    d.settings.setTopics(20);
    d.settings.setSampler(proto::LdaSampler::METROPOLIS);
    BOOST_TEST((read_settings(d.site().settings)->sampler == sampler_kind::metropolis));
    BOOST_TEST(lda_program().check(d.site()).ok());
}

BOOST_AUTO_TEST_CASE(are_refused_before_memory_is_taken) {
    described d;
    auto site = d.site();
    site.schedule.kind = scheduled::schedule_kind::cyclic;
    BOOST_TEST(says(d.refusal(site), "use schedule: rotation"));
    site = d.site();
    site.unit_norm = true;
    BOOST_TEST(says(d.refusal(site), "data.scale: topics are of counts"));
    site = d.site();
    site.stop.sweeps = 0;
    BOOST_TEST(says(d.refusal(site), "give stop.sweeps"));
    site.stop.seconds = 1;
    BOOST_TEST(lda_program().check(site).ok());
    site = d.site();
    site.data.columns = 1u << 27;
    BOOST_TEST(says(d.refusal(site), "use at most 16 topics"));
    site = d.site();
    site.data.rows = 0;
    BOOST_TEST(says(d.refusal(site), "empty"));
}

BOOST_AUTO_TEST_CASE(of_another_build_are_refused) {
    capnp::MallocMessageBuilder message;
    message.initRoot<capnp::AnyPointer>();
    BOOST_TEST(!read_settings(message.getRoot<capnp::AnyPointer>().asReader()).ok());
    for (const auto change : std::vector<void (*)(proto::LdaSettings::Builder)>{
             [](auto s) { s.setTopics(1); }, [](auto s) { s.setTopics(65536); },
             [](auto s) { s.setAlpha(0); }, [](auto s) { s.setBeta(-1); },
             [](auto s) { s.setProposals(0); }}) {
        described d;
        change(d.settings);
        BOOST_TEST(!read_settings(d.site().settings).ok());
    }
}

BOOST_AUTO_TEST_CASE(doubt_what_has_no_effect_or_is_hardly_meant) {
    described d;
    const auto doubted = [&d](const scheduled::program_site& site) {
        std::string paths;
        for (const scheduled::doubtful_key& key : lda_program().doubts(site))
            paths += key.path + " ";
        return paths;
    };
    BOOST_TEST(doubted(d.site()) == "stop.gap program.lda.proposals ");
    d.settings.setSampler(proto::LdaSampler::METROPOLIS);
    BOOST_TEST(doubted(d.site()) == "stop.gap ");
    d.settings.setTopics(500);
    BOOST_TEST(doubted(d.site()) == "stop.gap ");
    d.settings.setTopics(501);
    BOOST_TEST(doubted(d.site()) == "stop.gap program.lda.topics ");
    const auto why = [](const scheduled::program_site& site) {
        return lda_program().doubts(site).back().why;
    };
    BOOST_TEST(why(d.site()).starts_with("501 topics of 500 words: "));
    auto many_words = d.site();
    many_words.data.columns = 5000;
    BOOST_TEST(doubted(many_words) == "stop.gap ");
    d.settings.setTopics(1001);
    BOOST_TEST(why(many_words).starts_with("1001 topics of 1000 documents: "));
}

BOOST_AUTO_TEST_SUITE_END()
