#include "actors/params/shard_answers.hpp"

#include <algorithm>

#include "schemas/params.capnp.h"

namespace troupe {

shard_answers::shard_answers(answer_layout layout)
    : layout_{std::move(layout)}, answers_(layout_.ranges.size()) {}

void shard_answers::ask(const shard_question& question) {
    asked_ = question;
    missing_ = answers_.size();
    std::ranges::fill(answers_, nullptr);
}

void shard_answers::end() {
    asked_.reset();
    std::ranges::fill(answers_, nullptr);
}

result<void> shard_answers::take(std::size_t shard, std::uint64_t echo, frame_ptr answer) {
    if (auto fits = check(shard, echo, *answer); !fits)
        return fits;
    answers_[shard] = std::move(answer);
    --missing_;
    return {};
}

result<void> shard_answers::check(std::size_t shard, std::uint64_t echo, const frame& f) const {
    if (!asked_ || answers_[shard] || f.body_type() != asked_->answer || echo != asked_->echo)
        return error{errc::protocol, "is not to what it was asked"};
    const shard_range range = layout_.ranges[shard];
    const auto tensors = f.tensors();
    bool fits = tensors.size() == range.count * asked_->kinds;
    if (fits && layout_.pulls && asked_->answer == type_id_of<proto::Pulled>())
        return check_numbers(*layout_.pulls, std::span{layout_.shapes}.subspan(range.first),
                             tensors);
    for (std::size_t i = 0; fits && i < tensors.size(); ++i) {
        const std::size_t parameter =
            i < range.count ? i : (i - range.count) / layout_.state_per_parameter;
        fits = tensors[i].type() == data_type::float32 &&
               tensors[i].shape() == layout_.shapes[range.first + parameter];
    }
    if (!fits)
        return error{errc::protocol, "has not the tensors of the shard's parameters"};
    if (f.body_type() == type_id_of<proto::ShardRead>() &&
        f.body<proto::ShardRead>().getUpdates().size() != range.count)
        return error{errc::protocol, "has not a count of updates for each of its parameters"};
    return {};
}

bool shard_answers::drop(std::size_t shard, std::uint64_t clock) {
    if (!asked_ || asked_->answer != type_id_of<proto::Pulled>() || asked_->echo != clock ||
        are_complete() || !answers_[shard])
        return false;
    answers_[shard] = nullptr;
    ++missing_;
    return true;
}

std::vector<tensor> shard_answers::parameters() const {
    std::vector<tensor> all;
    for (std::size_t k = 0; k < answers_.size(); ++k)
        std::ranges::copy(answers_[k]->tensors().first(layout_.ranges[k].count),
                          std::back_inserter(all));
    return all;
}

std::vector<tensor> shard_answers::state() const {
    std::vector<tensor> all;
    for (std::size_t k = 0; k < answers_.size(); ++k)
        std::ranges::copy(answers_[k]->tensors().subspan(layout_.ranges[k].count),
                          std::back_inserter(all));
    return all;
}

} // namespace troupe
