"""What import-linter's contracts cannot say of the whole tree."""

import graphlib

import grimp


def test_no_modules_import_each_other_in_a_circle():
    """Names used in annotations alone count too: what needs each other belongs together."""
    graph = grimp.build_graph("cpsched", "predictors", "accasim_adapter")
    # Whoever imports the native core of the package imports none of its modules.
    for module in graph.find_modules_that_directly_import("cpsched"):
        lines = graph.get_import_details(importer=module, imported="cpsched")
        if {line["line_contents"].strip() for line in lines} == {"from cpsched import _core"}:
            graph.remove_import(importer=module, imported="cpsched")
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        raise AssertionError(f"modules in a circle: {circle}") from None
