// The jobs of a log on a pool of each resource: what all episodes that are played in it share.
#pragma once

#include "features.h"

#include <algorithm>

namespace cpsched {

class PoolJobs {
  public:
    /// What is known of n jobs, in order of submit.
    ///
    /// A job ends `runtime` after its start; `estimate` is what is known of that at its submit, and
    /// `requested_time` what it is expected to take once it has run as long as that. `demand`,
    /// shape (n, R), is no more than there is of any resource.
    struct Columns {
        std::vector<Time> submit;
        std::vector<Time> runtime;
        std::vector<Time> estimate;
        std::vector<Time> requested_time;
        std::vector<Amount> demand;
    };

    PoolJobs(Columns columns, std::vector<Amount> total);

    std::size_t size() const { return columns_.submit.size(); }
    Time submit(Row row) const { return columns_.submit[at(row)]; }
    Time runtime(Row row) const { return columns_.runtime[at(row)]; }
    Time estimate(Row row) const { return columns_.estimate[at(row)]; }
    Time requested_time(Row row) const { return columns_.requested_time[at(row)]; }
    const Amount *demand(Row row) const {
        return columns_.demand.data() + at(row) * num_resources();
    }
    /// An estimate of one second or more.
    Time duration(Row row) const { return std::max<Time>(estimate(row), 1); }
    ShownJob shown(Row row) const {
        return {submit(row), estimate(row), demand(row), constant_[at(row)]};
    }

    std::size_t num_resources() const { return total_.size(); }
    const std::vector<Amount> &total() const { return total_; }

  private:
    static std::size_t at(Row row) { return static_cast<std::size_t>(row); }

    Columns columns_;
    std::vector<Amount> total_;
    std::vector<ConstantFeatures> constant_;
};

} // namespace cpsched
