# Settings that hold for every target, and `aoe_flags` for the project's own code.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
# No -DNDEBUG: asserts stay on. -g1 keeps backtraces readable at a fraction of the size of -g.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths are hashed as relative ones: all checkouts and build folders share what is cached.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

if(AOE_SANITIZE)
  add_compile_options(-fsanitize=${AOE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${AOE_SANITIZE})
endif()

add_library(aoe_flags INTERFACE)
target_compile_options(aoe_flags INTERFACE -Wall -Wextra -Werror
  # A member that an initializer leaves out has its default, on purpose.
  -Wno-missing-field-initializers
  # g++ 12 raises these on correct uses of std::string, std::vector and std::optional.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds
  -Wno-stringop-overflow -Wno-stringop-overread>
  # clang raises it inside libstdc++'s own stable_sort.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
