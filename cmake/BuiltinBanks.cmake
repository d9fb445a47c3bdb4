# The built-in banks beside the program: what builtin/op/*.jsonl says, a file for each processor.

set(AOE_BUILTIN_EXPORTS ${CMAKE_SOURCE_DIR}/builtin/op CACHE PATH "Exports of the built-in banks")
file(GLOB builtin_exports CONFIGURE_DEPENDS ${AOE_BUILTIN_EXPORTS}/*.jsonl)
set(builtin_banks)
foreach(export IN LISTS builtin_exports)
  cmake_path(GET export STEM LAST_ONLY soc_version)
  set(bank ${CMAKE_BINARY_DIR}/builtin/op/${soc_version}/op.db)
  add_custom_command(
    OUTPUT ${bank}
    # A bank that is there would keep what the export has no more.
    COMMAND ${CMAKE_COMMAND} -E rm -f ${bank}
    COMMAND aoe bank import ${export} --bank ${bank}
    DEPENDS ${export}
    COMMENT "Built-in bank for ${soc_version}")
  list(APPEND builtin_banks ${bank})
endforeach()
add_custom_target(builtin_banks ALL DEPENDS ${builtin_banks})
add_dependencies(builtin_banks aoe)
