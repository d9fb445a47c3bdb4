# Third-party libraries are linked statically and never exported: a framework that loads this
# library into its process brings its own versions of the same symbols.

# aoe_static_dependency(<name> <library> [LINKS <target>...])
# Makes the target aoe::<name> from lib<library>.a.
function(aoe_static_dependency name library)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LINKS")
  find_library(AOE_${name}_ARCHIVE lib${library}.a)
  if(NOT AOE_${name}_ARCHIVE)
    message(FATAL_ERROR "lib${library}.a not found: install the packages of tools/packages.txt")
  endif()
  add_library(aoe::${name} STATIC IMPORTED)
  set_target_properties(aoe::${name} PROPERTIES IMPORTED_LOCATION ${AOE_${name}_ARCHIVE})
  target_link_libraries(aoe::${name} INTERFACE ${arg_LINKS})
endfunction()

# Keeps the symbols of static libraries out of what a shared object exports.
function(aoe_hide_dependencies target)
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,--no-undefined)
endfunction()
