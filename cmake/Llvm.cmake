# aoe::llvm: the parts of LLVM 19 that make machine code, as static archives.

find_program(LLVM_CONFIG llvm-config-19)
if(NOT LLVM_CONFIG)
  message(FATAL_ERROR "llvm-config-19 not found: install the packages of tools/packages.txt")
endif()

function(aoe_llvm_config variable)
  execute_process(COMMAND ${LLVM_CONFIG} ${ARGN} OUTPUT_VARIABLE output
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(output UNIX_COMMAND "${output}")
  set(${variable} ${output} PARENT_SCOPE)
endfunction()

# The host's own back end: kernels are made where they run.
aoe_llvm_config(llvm_target --host-target)
if(llvm_target MATCHES "^x86_64|^i.86")
  set(llvm_backend x86)
elseif(llvm_target MATCHES "^aarch64|^arm64")
  set(llvm_backend aarch64)
else()
  message(FATAL_ERROR "no code generator is known for ${llvm_target}")
endif()

aoe_llvm_config(llvm_include --includedir)
aoe_llvm_config(llvm_archives --link-static --libfiles core orcjit ipo ${llvm_backend})
aoe_llvm_config(llvm_system --link-static --system-libs core orcjit ${llvm_backend})
# Nothing here solves formulas or reads XML; what compresses is linked statically, as all else is.
list(FILTER llvm_system EXCLUDE REGEX "z3|xml2|tinfo|-lz$|-lzstd")

add_library(aoe_llvm INTERFACE)
add_library(aoe::llvm ALIAS aoe_llvm)
target_include_directories(aoe_llvm SYSTEM INTERFACE ${llvm_include})
aoe_static_dependency(zstd zstd)
# The last archive is a target, so that what compresses stands behind it whoever else needs it.
list(POP_BACK llvm_archives llvm_last)
add_library(aoe::llvm_last STATIC IMPORTED)
set_target_properties(aoe::llvm_last PROPERTIES IMPORTED_LOCATION ${llvm_last})
target_link_libraries(aoe::llvm_last INTERFACE aoe::zlib aoe::zstd)
target_link_libraries(aoe_llvm INTERFACE ${llvm_archives} aoe::llvm_last ${llvm_system})
