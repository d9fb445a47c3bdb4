# aoe::protobuf, the lite runtime as a static library, and aoe_proto_library().
#
# Debian's libprotobuf-lite.a is compiled for executables and cannot become part of a shared object
# (thread-local storage, direct references to libstdc++'s data). So the runtime is compiled here,
# position independent, from Debian's own sources.

find_program(PROTOC protoc REQUIRED)
aoe_debian_source(protobuf protobuf_folder)

# Generated code and runtime must be of one version.
execute_process(COMMAND ${PROTOC} --version OUTPUT_VARIABLE protoc_version COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" protoc_version ${protoc_version})
file(STRINGS ${protobuf_folder}/configure.ac source_version REGEX "^AC_INIT")
if(NOT source_version MATCHES "\\[${protoc_version}\\]")
  message(FATAL_ERROR "${PROTOC} is version ${protoc_version}, but ${protobuf_folder} is not: "
    "remove that folder to have it fetched again")
endif()

file(STRINGS ${protobuf_folder}/cmake/libprotobuf-lite.cmake protobuf_sources REGEX "/src/.*\\.cc$")
list(TRANSFORM protobuf_sources REPLACE ".*/src/" "src/")
aoe_source_dependency(protobuf protobuf INCLUDE src SOURCES ${protobuf_sources})
target_compile_definitions(aoe_protobuf PRIVATE HAVE_PTHREAD)
# It copies nothing from nowhere, which is harmless but not what the letter of the standard allows.
if(AOE_SANITIZE MATCHES undefined)
  target_compile_options(aoe_protobuf PUBLIC -fno-sanitize=nonnull-attribute)
endif()

# aoe_proto_library(<target> <file.proto>...)
# src/<folder>/<name>.proto is included as "<folder>/<name>.pb.h".
function(aoe_proto_library target)
  set(out ${CMAKE_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${out})
  set(generated)
  foreach(proto IN LISTS ARGN)
    file(RELATIVE_PATH stem ${CMAKE_SOURCE_DIR}/src ${proto})
    string(REGEX REPLACE "\\.proto$" "" stem ${stem})
    add_custom_command(
      OUTPUT ${out}/${stem}.pb.cc ${out}/${stem}.pb.h
      COMMAND ${PROTOC} --proto_path=${CMAKE_SOURCE_DIR}/src --cpp_out=${out} ${proto}
      DEPENDS ${proto} VERBATIM)
    list(APPEND generated ${out}/${stem}.pb.cc ${out}/${stem}.pb.h)
  endforeach()
  add_library(${target} STATIC ${generated})
  target_include_directories(${target} SYSTEM PUBLIC ${out})
  target_compile_options(${target} PRIVATE -w)
  target_link_libraries(${target} PUBLIC aoe::protobuf)
endfunction()
