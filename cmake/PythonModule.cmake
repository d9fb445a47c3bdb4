# aoe._aoe, and in build/python an importable package: the extension beside links to python/aoe.

find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(
  COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

nanobind_add_module(_aoe NB_STATIC NB_SUPPRESS_WARNINGS python/module.cpp python/bank.cpp)
target_include_directories(_aoe PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(_aoe PRIVATE aoe_core aoe_flags)
aoe_hide_dependencies(_aoe EXPORTS PyInit__aoe)

set(package ${CMAKE_BINARY_DIR}/python/aoe)
set_target_properties(_aoe PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${package})
file(MAKE_DIRECTORY ${package})
file(GLOB package_files CONFIGURE_DEPENDS python/aoe/*.py python/aoe/*.pyi python/aoe/py.typed)
# The extension looks for built-in banks beside itself.
file(CREATE_LINK ${CMAKE_BINARY_DIR}/builtin ${package}/builtin SYMBOLIC)
foreach(file IN LISTS package_files)
  cmake_path(GET file FILENAME name)
  file(CREATE_LINK ${file} ${package}/${name} SYMBOLIC)
endforeach()
