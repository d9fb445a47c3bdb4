# A wheel takes the component `python`, `cmake --install` all of it.

include(GNUInstallDirs)
if(SKBUILD)
  set(aoe_bin_dir ${SKBUILD_SCRIPTS_DIR})
  install(TARGETS _aoe LIBRARY DESTINATION aoe COMPONENT python)
else()
  set(aoe_bin_dir ${CMAKE_INSTALL_BINDIR})
endif()
install(TARGETS aoe RUNTIME DESTINATION ${aoe_bin_dir} COMPONENT python)
install(TARGETS aoe_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY include/aoe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
