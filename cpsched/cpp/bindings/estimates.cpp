// Estimates of runtimes: empirical distributions, samples from them, and predictions.
#include "estimates.h"

#include "../runtime_distribution.h"
#include "../runtime_prediction.h"

#include <stdexcept>

namespace cpsched {

namespace {

using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NumberRows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// View the rows of an array as structs of numbers.
template <class Row>
Span<const Row> rows_of(const NumberRows &array, const char *name) {
    if (array.shape(1) * sizeof(double) != sizeof(Row))
        throw std::invalid_argument(std::string(name) + " has the wrong number of columns");
    return {reinterpret_cast<const Row *>(array.data()), array.shape(0)};
}

DistributionRows distributions(const NumberRows &runtime, const NumberRows &weight,
                               const Ints &size) {
    if (runtime.shape(0) != size.size() || weight.shape(0) != size.size() ||
        runtime.shape(1) != weight.shape(1))
        throw std::invalid_argument("runtime, weight and size must be of the same jobs");
    return {runtime.data(), weight.data(), runtime.shape(1), span(size)};
}

nb::tuple runtime_distribution(const NumberRows &facts, const NumberRows &ended_of_all,
                               std::int64_t num_of_all, const NumberRows &ended_of_users,
                               const Ints &num_of_user, double scale) {
    const EndedJobs ended = {rows_of<EndedJob>(ended_of_all, "ended_of_all"), num_of_all,
                             rows_of<EndedJob>(ended_of_users, "ended_of_users"),
                             span(num_of_user)};
    if (ended.of_all.size() != kEndedOfAll ||
        ended.of_users.size() != kEndedOfUser * ended.num_of_user.size())
        throw std::invalid_argument("the rings of ended jobs have the wrong length");
    DistributionOfSimilar similar(ended, scale);
    RuntimeDistributions distributions = similar.of(rows_of<JobFacts>(facts, "facts"));
    const std::size_t num = distributions.size.size();
    return nb::make_tuple(moved(std::move(distributions.runtime), num, kMaxSamples),
                          moved(std::move(distributions.weight), num, kMaxSamples),
                          moved(std::move(distributions.size)));
}

nb::tuple expected(const NumberRows &runtime, const NumberRows &weight, const Ints &size) {
    ExpectedRuntimes means = expected_runtimes(distributions(runtime, weight, size));
    return nb::make_tuple(moved(std::move(means.slope)), moved(std::move(means.mean)));
}

auto sampled(std::int64_t num, std::int64_t seed, const Ints &elapsed, const Ints &otherwise,
             const NumberRows &runtime, const NumberRows &weight, const Ints &size) {
    const DistributionRows jobs = distributions(runtime, weight, size);
    if (num < 1 || elapsed.size() != size.size() || otherwise.size() != size.size())
        throw std::invalid_argument("elapsed and otherwise must be of the same jobs");
    return moved(sampled_runtimes(jobs, num, seed, span(elapsed), span(otherwise)), num,
                 elapsed.size());
}

nb::tuple predictions(const NumberRows &runtime, const NumberRows &weight, const Ints &limit,
                      const Ints &horizons, const Numbers &levels) {
    if (runtime.shape(0) != limit.size() || weight.shape(0) != limit.size() ||
        runtime.shape(1) != weight.shape(1) || horizons.size() == 0)
        throw std::invalid_argument("runtime, weight and limit must be of the same jobs");
    const std::size_t num = limit.size();
    const PredictionPoints points = {span(horizons), {levels.data(), levels.size()}};
    RuntimePredictions predictions =
        runtime_predictions(runtime.data(), weight.data(), runtime.shape(1), span(limit), points);
    return nb::make_tuple(moved(std::move(predictions.quantiles), num, levels.size()),
                          moved(std::move(predictions.ends_within), num, horizons.size()),
                          moved(std::move(predictions.ranking)));
}

} // namespace

void bind_estimates(nb::module_ &module) {
    module.def("runtime_distribution", &runtime_distribution, nb::arg("facts").noconvert(),
               nb::arg("ended_of_all").noconvert(), nb::arg("num_of_all"),
               nb::arg("ended_of_users").noconvert(), nb::arg("num_of_user").noconvert(),
               nb::arg("scale"), "Return runtimes, weights and the number of samples of each job.");
    module.def("expected_runtimes", &expected, nb::arg("runtime").noconvert(),
               nb::arg("weight").noconvert(), nb::arg("size").noconvert(),
               "Return means of 1 / max(r, 10) and of the runtime r of each job.");
    module.def("sampled_runtimes", &sampled, nb::arg("num"), nb::arg("seed"),
               nb::arg("elapsed").noconvert(), nb::arg("otherwise").noconvert(),
               nb::arg("runtime").noconvert(), nb::arg("weight").noconvert(),
               nb::arg("size").noconvert(),
               "Return sampled runtimes longer than each job has run, one row a scenario.");
    module.def("runtime_predictions", &predictions, nb::arg("runtime").noconvert(),
               nb::arg("weight").noconvert(), nb::arg("limit").noconvert(),
               nb::arg("horizons").noconvert(), nb::arg("levels").noconvert(),
               "Return quantiles, probabilities to end within horizons, and what to rank by.");
}

} // namespace cpsched
