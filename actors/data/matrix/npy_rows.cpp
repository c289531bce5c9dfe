#include "actors/data/matrix/npy_rows.hpp"

#include <algorithm>

#include "actors/data/files/npy_elements.hpp"
#include "actors/data/matrix/held_rows.hpp"

namespace troupe {

namespace {

constexpr std::size_t piece_elements = 1u << 16;

class npy_rows final : public table_rows {
  public:
    npy_rows(std::string name, npy_elements elements)
        : name_{std::move(name)}, elements_{std::move(elements)} {
        form_.columns = elements_.header().shape[1];
    }

    const table_form& form() const noexcept override { return form_; }

    result<bool> append_row(row_block& to) override {
        if (elements_.done() == elements_.header().elements) {
            const auto ended = elements_.expect_end();
            return ended ? result<bool>{false} : ended.failure();
        }
        const std::size_t before = to.values.size();
        to.values.resize(before + *form_.columns);
        const auto got = elements_.read_in_float_range(std::span{to.values}.subspan(before));
        return got ? result<bool>{true} : got.failure();
    }

    result<void> rewind() override {
        if (elements_.done() == 0)
            return {};
        auto again = npy_elements::open(name_);
        if (!again)
            return again.failure();
        if (again->header().shape != elements_.header().shape)
            return again->fail_header(file_changed);
        elements_ = std::move(*again);
        return {};
    }

    error fail(std::string_view sentence) const override { return elements_.fail_header(sentence); }

  private:
    std::string name_;
    npy_elements elements_;
    table_form form_;
};

result<std::unique_ptr<table_rows>> hold(npy_elements elements) {
    const auto& shape = elements.header().shape;
    auto held = std::make_unique<held_columns>(
        held_form{elements.name() + ": byte 0", shape[0], shape[1]}, false);
    std::vector<double> piece;
    while (elements.done() < elements.header().elements) {
        piece.resize(
            std::min<std::uint64_t>(piece_elements, elements.header().elements - elements.done()));
        if (auto got = elements.read_in_float_range(std::span{piece}); !got)
            return got.failure();
        held->add(piece);
    }
    if (auto ended = elements.expect_end(); !ended)
        return ended.failure();
    return std::unique_ptr<table_rows>{std::move(held)};
}

} // namespace

result<std::unique_ptr<table_rows>> open_npy_rows(const std::string& name) {
    auto elements = npy_elements::open(name, npy_order::fortran);
    if (!elements)
        return elements.failure();
    const npy_header& header = elements->header();
    if (header.shape.size() != 2)
        return elements->fail_header(
            "an array of " + std::to_string(header.shape.size()) +
            (header.shape.size() == 1 ? " dimension" : " dimensions") +
            "; features have rows and columns, as by array.reshape(len(array), -1)");
    if (const std::string why =
            why_not_held({"", header.shape[0], header.shape[1]},
                         header.order == npy_order::fortran ? header.elements : 0, sizeof(double));
        !why.empty())
        return elements->fail_header(why);
    if (header.order == npy_order::fortran)
        return hold(std::move(*elements));
    return std::unique_ptr<table_rows>{std::make_unique<npy_rows>(name, std::move(*elements))};
}

} // namespace troupe
