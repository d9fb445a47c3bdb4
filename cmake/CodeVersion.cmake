# code_version.inc: a hash of the sources that decide which machine code a loop nest becomes, made
# anew when one of them changes. Objects that are kept on disk carry it.

set(folders base device expr loop policy program codegen)

if(CMAKE_SCRIPT_MODE_FILE)
  set(all "")
  foreach(folder IN LISTS folders)
    file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/${folder}/*.cpp ${SOURCE}/${folder}/*.h)
    foreach(file IN LISTS files)
      file(SHA256 ${SOURCE}/${file} hash)
      string(APPEND all "${file} ${hash}\n")
    endforeach()
  endforeach()
  string(SHA256 hash "${all}")
  string(SUBSTRING ${hash} 0 16 hash)
  file(WRITE ${OUTPUT} "#define AOE_CODE_VERSION \"${hash}\"\n")
  return()
endif()

set(code_version ${CMAKE_BINARY_DIR}/generated/code_version.inc)
list(TRANSFORM folders REPLACE "(.+)" "src/\\1/*.cpp" OUTPUT_VARIABLE sources)
list(TRANSFORM folders REPLACE "(.+)" "src/\\1/*.h" OUTPUT_VARIABLE headers)
file(GLOB_RECURSE hashed CONFIGURE_DEPENDS ${sources} ${headers})
add_custom_command(OUTPUT ${code_version}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR}/src -DOUTPUT=${code_version}
    -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${hashed} ${CMAKE_CURRENT_LIST_FILE} VERBATIM)
target_sources(aoe_core PRIVATE ${code_version})
target_include_directories(aoe_core PRIVATE ${CMAKE_BINARY_DIR}/generated)
