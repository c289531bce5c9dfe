// The two classes that targets are of, with loss: logistic or with a label; and what else is asked of targets.
//
// Threads: values. Errors: errc::data with a sentence that says what the targets have to be.
#pragma once

#include <memory>
#include <optional>

#include "actors/data/matrix/data_rule.hpp"
#include "apps/lasso/settings.hpp"

namespace troupe::lasso {

// Whether a target is of class 1 of two: 1 or this label. errc::data for what is neither of 0 and 1 nor of -1 and 1.
result<bool> class_of(double target, std::optional<double> label);

// Targets of each class. With a label there are no minus.
struct class_counts {
    double zeros = 0, minus = 0, ones = 0;

    void add(double target, bool is_one, std::optional<double> label) noexcept {
        (is_one ? ones : target == -1 && !label ? minus : zeros) += 1;
    }
    // Whether these are all rows of two classes.
    result<void> check() const;
    result<void> check_label(double label) const;
};

// The rule that the settings ask of targets.
std::unique_ptr<data_rule> make_data_rule(const lasso_settings& settings);

} // namespace troupe::lasso
