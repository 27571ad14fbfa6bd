// Slurm as a native dispatcher of a simulation.
#pragma once

#include "../simulation.h"
#include "scheduler.h"

namespace cpsched::slurm {

class SlurmDispatcher : public NativeDispatcher {
  public:
    /// Both must outlive this.
    SlurmDispatcher(SlurmScheduler &scheduler, TemplateSource &source)
        : scheduler_(scheduler), source_(source) {}

    void look_at(Cluster &cluster) override;
    void tables_changed(Cluster &cluster) override;
    void queue_changed(Cluster & /*cluster*/) override {}
    void freed(const Cluster & /*cluster*/, Row /*row*/,
               const AllocationRanges & /*nodes*/) override {}
    const Starts &decide(Cluster &cluster, Time now) override;
    Time again_at() const override { return scheduler_.again_at(); }

  private:
    SlurmScheduler &scheduler_;
    TemplateSource &source_;
    /// The masks of eligible nodes when this last looked at the whole cluster.
    std::vector<std::uint8_t> eligible_;
    bool has_looked_ = false;
};

} // namespace cpsched::slurm
