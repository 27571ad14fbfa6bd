// What the tables of a run need of long columns.
#include "columns.h"

#include "../columns.h"

#include <algorithm>
#include <stdexcept>

namespace cpsched {

namespace {

auto counts(const Ints &values, const Ints &limits) {
    return moved(num_up_to(span(values), span(limits)));
}

nb::tuple sequences(const Matrix &rows, const Ints &begin) {
    const Span<const std::int64_t> bounds = span(begin);
    if (!std::is_sorted(bounds.begin(), bounds.end()) ||
        (!bounds.empty() &&
         (bounds[0] < 0 || bounds.back() > static_cast<std::int64_t>(rows.shape(0)))))
        throw std::invalid_argument("begin must rise from 0 to the number of rows");
    NumberedSequences numbered = numbered_sequences(rows.data(), rows.shape(1), bounds);
    return nb::make_tuple(moved(std::move(numbered.number)), moved(std::move(numbered.first)));
}

} // namespace

void bind_columns(nb::module_ &module) {
    module.def("num_up_to", &counts, nb::arg("values").noconvert(), nb::arg("limits").noconvert(),
               "Return how many of some rising values are at most each of some rising limits.");
    module.def("numbered_sequences", &sequences, nb::arg("rows").noconvert(),
               nb::arg("begin").noconvert(),
               "Return a number for each sequence of rows, the same for equal ones, and the first "
               "sequence of each number.");
}

} // namespace cpsched
