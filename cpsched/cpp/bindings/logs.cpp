// Reading logs.
#include "logs.h"

#include "../number_lines.h"

#include <stdexcept>

namespace cpsched {

namespace {

using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<NumberField> fields_of(const Ints &max_value, const Flags &may_have_fraction,
                                   const Flags &is_column) {
    if (may_have_fraction.size() != max_value.size() || is_column.size() != max_value.size())
        throw std::invalid_argument("the arrays must be of the same fields");
    std::vector<NumberField> fields;
    fields.reserve(max_value.size());
    for (std::size_t at = 0; at < max_value.size(); ++at)
        fields.push_back(
            {max_value.data()[at], may_have_fraction.data()[at], is_column.data()[at]});
    return fields;
}

auto joined(const NumberLines &lines, const std::vector<NumberField> &fields) {
    std::vector<std::int64_t> columns;
    std::size_t num_columns = 0;
    columns.reserve(fields.size() * lines.number.size());
    for (std::size_t field = 0; field < fields.size(); ++field) {
        columns.insert(columns.end(), lines.columns[field].begin(), lines.columns[field].end());
        num_columns += fields[field].is_column;
    }
    return moved(std::move(columns), num_columns, lines.number.size());
}

nb::tuple number_lines(const nb::bytes &text, std::size_t width, const Ints &max_value,
                       const Flags &may_have_fraction, const Flags &is_column) {
    const auto fields = fields_of(max_value, may_have_fraction, is_column);
    NumberLines lines = read_number_lines({text.c_str(), text.size()}, width, fields);
    std::vector<std::int64_t> others;
    for (const OtherLine &other : lines.others)
        others.insert(others.end(), {other.number, other.begin, other.end});
    auto columns = joined(lines, fields);
    return nb::make_tuple(std::move(columns), moved(std::move(lines.number)),
                          moved(std::move(others), lines.others.size(), 3));
}

} // namespace

void bind_logs(nb::module_ &module) {
    module.def(
        "number_lines", &number_lines, nb::arg("text"), nb::arg("width"),
        nb::arg("max_value").noconvert(), nb::arg("may_have_fraction").noconvert(),
        nb::arg("is_column").noconvert(),
        "Return columns of the lines of numbers, the numbers of these lines, and the number, "
        "begin and end of every other line that is not blank.");
}

} // namespace cpsched
