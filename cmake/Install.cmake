# A wheel takes the component `python`, `cmake --install` all of it.

include(GNUInstallDirs)
if(SKBUILD)
  set(aoe_bin_dir ${SKBUILD_SCRIPTS_DIR})
  install(TARGETS _aoe LIBRARY DESTINATION aoe COMPONENT python)
else()
  set(aoe_bin_dir ${CMAKE_INSTALL_BINDIR})
endif()
# Beside the program, the library and the extension, each of which looks for it there.
if(SKBUILD)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/builtin DESTINATION aoe COMPONENT python OPTIONAL)
else()
  install(DIRECTORY ${CMAKE_BINARY_DIR}/builtin DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT library OPTIONAL)
endif()
install(DIRECTORY ${CMAKE_BINARY_DIR}/builtin DESTINATION ${aoe_bin_dir} COMPONENT python OPTIONAL)
install(TARGETS aoe RUNTIME DESTINATION ${aoe_bin_dir} COMPONENT python)
install(TARGETS aoe_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY include/aoe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
