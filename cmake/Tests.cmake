# The C++ tests, one program, and the examples, which use the public interface alone.

find_package(GTest REQUIRED)
include(GoogleTest)
enable_testing()

file(GLOB test_sources CONFIGURE_DEPENDS tests/cpp/*.cpp)
if(test_sources)
  add_executable(aoe_tests ${test_sources})
  target_include_directories(aoe_tests PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(aoe_tests PRIVATE AOE_TESTS="${CMAKE_SOURCE_DIR}/tests"
    AOE_PROGRAM="$<TARGET_FILE:aoe>")
  add_dependencies(aoe_tests aoe)  # its workers
  target_link_libraries(aoe_tests PRIVATE aoe_core aoe_tuning aoe_flags aoe::llvm
    nlohmann_json::nlohmann_json GTest::gtest_main)
  gtest_discover_tests(aoe_tests DISCOVERY_TIMEOUT 60)
endif()

# Examples in C show that the C interface needs no more than C99.
enable_language(C)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
file(GLOB example_sources CONFIGURE_DEPENDS examples/*/*.cpp examples/*/*.c)
foreach(source IN LISTS example_sources)
  cmake_path(GET source PARENT_PATH folder)
  cmake_path(GET folder FILENAME name)
  if(NOT TARGET example_${name})
    add_executable(example_${name})
    set_target_properties(example_${name} PROPERTIES
      OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
    target_link_libraries(example_${name} PRIVATE aoe_shared aoe_flags)
    target_compile_options(example_${name} PRIVATE -Wpedantic)
  endif()
  target_sources(example_${name} PRIVATE ${source})
endforeach()

# Programs that the Python tests run.
file(GLOB program_sources CONFIGURE_DEPENDS tests/programs/*.cpp)
foreach(source IN LISTS program_sources)
  cmake_path(GET source STEM name)
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE aoe_core aoe_flags)
endforeach()
target_sources(kernel_campaign PRIVATE tests/cpp/random_kernels.cpp tests/cpp/random_workloads.cpp
  tests/cpp/random_chains.cpp)
target_sources(journal_kills PRIVATE tests/cpp/journal_kills.cpp)
target_link_libraries(journal_kills PRIVATE aoe_tuning)
target_link_libraries(job_trials PRIVATE aoe_tuning)

# Recorded spaces, and searchers at work in them: for a test and for two programs.
file(GLOB gym_sources CONFIGURE_DEPENDS tests/gym/*.cpp)
add_library(aoe_gym STATIC ${gym_sources})
target_include_directories(aoe_gym PUBLIC ${CMAKE_SOURCE_DIR} src)
target_link_libraries(aoe_gym PUBLIC aoe::fmt aoe::zlib PRIVATE aoe_flags)
target_link_libraries(gym_record PRIVATE aoe_gym)
target_link_libraries(gym PRIVATE aoe_gym aoe_tuning)
if(TARGET aoe_tests)
  target_link_libraries(aoe_tests PRIVATE aoe_gym)
endif()
