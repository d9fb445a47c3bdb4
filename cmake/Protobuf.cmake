# aoe::protobuf, the lite runtime as a static library, and aoe_proto_library().
#
# Debian's libprotobuf-lite.a is compiled for executables and cannot become part of a shared object
# (thread-local storage, direct references to libstdc++'s data). So the runtime is compiled here,
# position independent, from Debian's own source package of the same version as protoc.

set(AOE_PROTOBUF_SOURCE ${CMAKE_SOURCE_DIR}/build/protobuf CACHE PATH
  "Protobuf's source tree, of the same version as protoc; fetched from Debian when it is not there")
find_program(PROTOC protoc REQUIRED)

set(file_list ${AOE_PROTOBUF_SOURCE}/cmake/libprotobuf-lite.cmake)
if(NOT EXISTS ${file_list})
  execute_process(
    COMMAND ${CMAKE_SOURCE_DIR}/tools/fetch_debian_source.sh protobuf ${AOE_PROTOBUF_SOURCE}
    RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR
      "No protobuf sources. Unpack those of the installed protoc's version somewhere and configure "
      "with -DAOE_PROTOBUF_SOURCE=<that folder>")
  endif()
endif()

execute_process(COMMAND ${PROTOC} --version OUTPUT_VARIABLE protoc_version COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" protoc_version ${protoc_version})
file(STRINGS ${AOE_PROTOBUF_SOURCE}/configure.ac source_version REGEX "^AC_INIT")
if(NOT source_version MATCHES "\\[${protoc_version}\\]")
  message(FATAL_ERROR "${PROTOC} is version ${protoc_version}, but ${AOE_PROTOBUF_SOURCE} is not: "
    "remove that folder to have it fetched again")
endif()

file(STRINGS ${file_list} sources REGEX "/src/.*\\.cc$")
list(TRANSFORM sources REPLACE ".*/src/" "${AOE_PROTOBUF_SOURCE}/src/")
add_library(aoe_protobuf STATIC ${sources})
add_library(aoe::protobuf ALIAS aoe_protobuf)
target_include_directories(aoe_protobuf SYSTEM PUBLIC ${AOE_PROTOBUF_SOURCE}/src)
target_compile_definitions(aoe_protobuf PRIVATE HAVE_PTHREAD)
target_compile_options(aoe_protobuf PRIVATE -w)
target_link_libraries(aoe_protobuf PUBLIC Threads::Threads)

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
