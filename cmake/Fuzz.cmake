# One libFuzzer program for each file in fuzz/, all code instrumented.

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "The fuzz targets need clang: configure with -DCMAKE_CXX_COMPILER=clang++-19")
endif()
target_compile_options(aoe_core PRIVATE -fsanitize=fuzzer-no-link)
target_compile_options(aoe_tuning PRIVATE -fsanitize=fuzzer-no-link)

file(GLOB fuzz_sources CONFIGURE_DEPENDS fuzz/*.cpp)
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM name)
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE aoe_core aoe_flags -fsanitize=fuzzer)
  set_property(GLOBAL APPEND PROPERTY aoe_fuzz_targets ${name})
endforeach()

# Readers and writers outside of the library.
target_link_libraries(journal_read PRIVATE aoe_tuning)
target_link_libraries(result_write PRIVATE aoe_tuning nlohmann_json::nlohmann_json)
target_sources(npy_read PRIVATE src/cli/npy.cpp src/cli/zip.cpp)
target_compile_options(npy_read PRIVATE -fsanitize=fuzzer-no-link)
target_link_libraries(npy_read PRIVATE aoe::minizip)

get_property(names GLOBAL PROPERTY aoe_fuzz_targets)
add_custom_target(fuzzers DEPENDS ${names})
