#include "apps/lasso/settings.hpp"

#include <string>

#include <kj/exception.h>

#include "apps/lasso/lasso.capnp.h"
#include "apps/lasso/lasso_limits.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::lasso {

namespace {

lasso_settings settings_of(proto::LassoSettings::Reader reader) {
    lasso_settings s;
    const auto penalty = reader.getPenalty();
    switch (penalty.which()) {
    case proto::LassoPenalty::LAMBDA:
        s.penalty = penalty_kind::lambda;
        s.size = penalty.getLambda();
        break;
    case proto::LassoPenalty::SHARE:
        s.penalty = penalty_kind::share;
        s.size = penalty.getShare();
        break;
    case proto::LassoPenalty::PATH:
        s.penalty = penalty_kind::path;
        s.size = penalty.getPath().getRatio();
        s.count = penalty.getPath().getCount();
        break;
    }
    s.ratio = reader.getRatio();
    s.intercept = reader.getIntercept();
    if (reader.getLoss() == proto::LassoLoss::LOGISTIC)
        s.loss = loss_kind::logistic;
    if (const auto target = reader.getTarget(); target.isLabel())
        s.label = target.getLabel();
    return s;
}

error wrong(const std::string& key, const std::string& sentence) {
    return {errc::usage, key + ": " + sentence};
}

} // namespace

result<lasso_settings> read_settings(capnp::AnyPointer::Reader settings) {
    try {
        const lasso_settings s = settings_of(settings.getAs<proto::LassoSettings>());
        if (s.size > 0 && s.count >= 1 && s.ratio > 0 && s.ratio <= 1)
            return s;
    } catch (const kj::Exception&) {
    }
    return error{errc::protocol,
                 "the settings of lasso are not what this build knows by that name"};
}

result<void> check(const scheduled::program_site& site) {
    auto read = read_settings(site.settings);
    if (!read)
        return read.failure();
    const lasso_settings& s = *read;
    const std::uint64_t columns = site.data.columns;
    if (site.data.rows == 0 || columns == 0)
        return wrong("data", "the matrix is empty; there is nothing to fit");
    if (columns >= limits::columns_max)
        return wrong("data", "the matrix has " + std::to_string(columns) +
                                 " columns, but lasso takes fewer than " +
                                 std::to_string(limits::columns_max));
    if (site.schedule.set > limits::set_max)
        return wrong("schedule", "a set of " + std::to_string(site.schedule.set) +
                                     " variables needs too many products of columns at once; use "
                                     "schedule.set of at most " +
                                     std::to_string(limits::set_max) + ", or 0");
    if (s.penalty != penalty_kind::path)
        return {};
    if (site.stop.gap <= 0)
        return wrong("penalty.path", "the next value follows when the gap is below stop.gap, which "
                                     "is 0; use a gap such as 1e-6");
    if (s.count * columns > limits::coefficients_max)
        return wrong("penalty.path.count",
                     counted(s.count, "value") + " for " + counted(columns, "column") +
                         " make a result of more than 8 GiB; use at most " +
                         counted(limits::coefficients_max / columns, "value"));
    return {};
}

} // namespace troupe::lasso
