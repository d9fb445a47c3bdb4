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

# aoe_shared_dependency(<name> <library>)
# Makes the target aoe::<name> from lib<library>.so, for what never enters another program's process
# and has no archive in Debian.
function(aoe_shared_dependency name library)
  find_library(AOE_${name}_LIBRARY lib${library}.so)
  if(NOT AOE_${name}_LIBRARY)
    message(FATAL_ERROR "lib${library}.so not found: install the packages of tools/packages.txt")
  endif()
  add_library(aoe::${name} SHARED IMPORTED)
  set_target_properties(aoe::${name} PROPERTIES IMPORTED_LOCATION ${AOE_${name}_LIBRARY})
endfunction()

# aoe_debian_source(<package> <variable>)
# Sets the variable to the folder with the sources of a Debian package, fetched once for all builds.
# AOE_<package>_SOURCE names another folder to take them from.
function(aoe_debian_source package variable)
  set(AOE_${package}_SOURCE ${CMAKE_SOURCE_DIR}/build/sources/${package} CACHE PATH
    "Sources of ${package}")
  set(folder ${AOE_${package}_SOURCE})
  if(NOT EXISTS ${folder})
    message(STATUS "Fetching the sources of ${package}")
    execute_process(
      COMMAND ${CMAKE_SOURCE_DIR}/tools/fetch_debian_source.sh ${package} ${folder}
      RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "No sources of ${package}. Unpack them somewhere and configure with "
        "-DAOE_${package}_SOURCE=<that folder>")
    endif()
  endif()
  set(${variable} ${folder} PARENT_SCOPE)
endfunction()

# aoe_source_dependency(<name> <package> INCLUDE <folder> SOURCES <file>...)
# Makes the target aoe::<name> from a Debian source package, for libraries whose archive in Debian
# is missing or compiled for executables only. Paths are relative to the package.
function(aoe_source_dependency name package)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "INCLUDE" "SOURCES")
  aoe_debian_source(${package} folder)
  list(TRANSFORM arg_SOURCES PREPEND ${folder}/)
  add_library(aoe_${name} STATIC ${arg_SOURCES})
  add_library(aoe::${name} ALIAS aoe_${name})
  target_include_directories(aoe_${name} SYSTEM PUBLIC ${folder}/${arg_INCLUDE})
  target_compile_options(aoe_${name} PRIVATE -w)
  target_link_libraries(aoe_${name} PUBLIC Threads::Threads)
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
