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

# aoe_hide_dependencies(<target> EXPORTS <symbol pattern>...)
# A shared object exports what is marked for export and matches a pattern: nothing of its static
# libraries, and nothing that templates of the standard library leave behind.
function(aoe_hide_dependencies target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "EXPORTS")
  list(JOIN arg_EXPORTS "; " patterns)
  set(map ${CMAKE_BINARY_DIR}/${target}.map)
  file(CONFIGURE OUTPUT ${map} CONTENT "{ global: @patterns@; local: *; };\n" @ONLY)
  target_link_options(${target} PRIVATE
    -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,--version-script=${map})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${map})
endfunction()
