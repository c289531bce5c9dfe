#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include "apps/lasso/lasso.capnp.h"
#include "apps/lasso/lasso.hpp"
#include "apps/lasso/lasso_limits.hpp"
#include "apps/lasso/settings.hpp"

using namespace troupe;
using namespace troupe::lasso;

namespace {

struct described {
    capnp::MallocMessageBuilder message;
    proto::LassoSettings::Builder settings = message.initRoot<proto::LassoSettings>();

    scheduled::program_site site() {
        scheduled::program_site s;
        s.settings = message.getRoot<capnp::AnyPointer>().asReader();
        s.data = {1000, 100, 100000, false};
        s.stop.gap = 1e-6;
        s.workers = 1;
        s.variables = {{0, 100}};
        return s;
    }
    static std::string refusal(const scheduled::program_site& site) {
        const auto fits = lasso_program().check(site);
        BOOST_REQUIRE(!fits.ok());
        BOOST_TEST((fits.failure().code() == errc::usage));
        return fits.failure().message();
    }
};

bool says(const std::string& sentence, const std::string& part) {
    return sentence.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_settings_of_app_files)

BOOST_AUTO_TEST_CASE(are_read_with_their_defaults) {
    described d;
    d.settings.initPenalty().setShare(0.25);
    const auto s = read_settings(d.site().settings);
    BOOST_REQUIRE(s.ok());
    BOOST_TEST((s->penalty == penalty_kind::share));
    BOOST_TEST(s->size == 0.25);
    BOOST_TEST(s->ratio == 1);
    BOOST_TEST(s->intercept);
    BOOST_TEST(!s->label.has_value());
    d.settings.initPenalty().initPath();
    d.settings.initTarget().setLabel(-3);
    const auto path = read_settings(d.site().settings);
    BOOST_REQUIRE(path.ok());
    BOOST_TEST(path->count == 100u);
    BOOST_TEST(path->size == 0.001);
    BOOST_TEST(*path->label == -3);
    BOOST_TEST(lasso_program().check(d.site()).ok());
}

BOOST_AUTO_TEST_CASE(are_refused_before_memory_is_taken) {
    described d;
    d.settings.initPenalty().initPath().setCount(10000);
    auto site = d.site();
    site.data.columns = 1000000;
    BOOST_TEST(says(d.refusal(site), "penalty.path.count: 10000 values for 1000000 columns"));
    site.data.columns = lasso::limits::columns_max;
    BOOST_TEST(says(d.refusal(site), "columns, but lasso takes fewer than"));
    site = d.site();
    site.stop.gap = 0;
    BOOST_TEST(says(d.refusal(site), "penalty.path: "));
    site = d.site();
    site.schedule.set = lasso::limits::set_max + 1;
    BOOST_TEST(says(d.refusal(site), "at most 2048"));
    site = d.site();
    site.data.rows = 0;
    BOOST_TEST(says(d.refusal(site), "empty"));
}

BOOST_AUTO_TEST_CASE(of_another_build_are_refused) {
    capnp::MallocMessageBuilder message;
    message.initRoot<capnp::AnyPointer>();
    BOOST_TEST(!read_settings(message.getRoot<capnp::AnyPointer>().asReader()).ok());
}

BOOST_AUTO_TEST_SUITE_END()
