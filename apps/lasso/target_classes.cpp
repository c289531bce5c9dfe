#include "apps/lasso/target_classes.hpp"

#include <charconv>
#include <cmath>
#include <string>

#include "apps/lasso/lasso_limits.hpp"

namespace troupe::lasso {

namespace {

std::string text_of(double number) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

// Sums of squares must be numbers.
class bounded_targets final : public data_rule {
  public:
    result<void> take_target(double target) override {
        if (std::abs(target) <= limits::target_max)
            return {};
        return error{errc::data, "a target is " + text_of(target) +
                                     ", whose square is too large for float64; scale the targets"};
    }
};

class two_classes final : public data_rule {
  public:
    explicit two_classes(std::optional<double> label) : label_{label} {}

    result<void> take_target(double target) override {
        const auto is_one = class_of(target, label_);
        if (!is_one)
            return is_one.failure();
        counts_.add(target, *is_one, label_);
        return {};
    }
    result<void> end_targets() const override {
        return label_ ? counts_.check_label(*label_) : counts_.check();
    }

  private:
    const std::optional<double> label_;
    class_counts counts_;
};

} // namespace

result<bool> class_of(double target, std::optional<double> label) {
    if (label)
        return target == *label;
    if (target == 0 || target == 1 || target == -1)
        return target == 1;
    return error{errc::data,
                 "a target is " + text_of(target) +
                     ", but with loss: logistic the targets are two classes, 0 and 1 or "
                     "-1 and 1; use target: {label: K} for one of several classes "
                     "against the rest"};
}

result<void> class_counts::check() const {
    if (zeros > 0 && minus > 0)
        return error{errc::data,
                     "the targets are 0, 1 and -1, but with loss: logistic they are two "
                     "classes; use target: {label: K} for one of several classes "
                     "against the rest"};
    if (zeros + minus == 0 || ones == 0)
        return error{errc::data, "all targets are of one class, but with loss: logistic they are "
                                 "two; use data with both, or another label"};
    return {};
}

result<void> class_counts::check_label(double label) const {
    if (ones > 0 && zeros > 0)
        return {};
    return error{errc::data, std::string{ones > 0 ? "every" : "no"} + " target is " +
                                 text_of(label) +
                                 ", which is to be told from the others by target: "
                                 "{label: K}; name a label that some rows have"};
}

std::unique_ptr<data_rule> make_data_rule(const lasso_settings& settings) {
    if (!settings.is_logistic() && !settings.label)
        return std::make_unique<bounded_targets>();
    return std::make_unique<two_classes>(settings.label);
}

} // namespace troupe::lasso
