# `cmake --install`: program, public headers, one static library, pkg-config, man pages, completions.
if(TARGET opscope)
    install(TARGETS opscope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

    # Man pages and completions are generated from the option tables by the program itself.
    find_package(Python3 COMPONENTS Interpreter QUIET)
    if(Python3_FOUND AND NOT OSC_SANITIZE)
        add_custom_command(
            OUTPUT ${CMAKE_BINARY_DIR}/docs.stamp
            COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/gen_cli_docs.py
                    $<TARGET_FILE:opscope> ${CMAKE_BINARY_DIR}
            COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/docs.stamp
            DEPENDS opscope ${PROJECT_SOURCE_DIR}/tools/gen_cli_docs.py
            COMMENT "Generating man pages and completions" VERBATIM)
        add_custom_target(cli_docs ALL DEPENDS ${CMAKE_BINARY_DIR}/docs.stamp)
    endif()
    install(DIRECTORY ${CMAKE_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL
            FILES_MATCHING PATTERN "*.1")
    install(FILES ${CMAKE_BINARY_DIR}/completions/opscope.bash OPTIONAL
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME opscope)
    install(FILES ${CMAKE_BINARY_DIR}/completions/_opscope OPTIONAL
            DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${CMAKE_BINARY_DIR}/completions/opscope.fish OPTIONAL
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

install(DIRECTORY include/opscope DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} OPTIONAL
        FILES_MATCHING PATTERN "*.h")
# Help texts name files such as docs/model.md: below doc/opscope they have the same names.
install(FILES LICENSE README.md CHANGES.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/opscope OPTIONAL)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/opscope OPTIONAL)

# libopscope.a: what a user of the C interface links, all rooms below the program in one archive. They become
# one object whose hidden symbols are local, so that a program may have functions of the same names.
set(capi_objects "")
foreach(room base isa artifact device compiler runtime store read analysis query export api)
    if(TARGET osc_${room})
        list(APPEND capi_objects $<TARGET_OBJECTS:osc_${room}>)
    endif()
endforeach()
if(capi_objects)
    if(CMAKE_OBJCOPY AND NOT OSC_SANITIZE AND NOT OSC_FUZZ)
        set(capi_whole ${CMAKE_BINARY_DIR}/opscope_whole.o)
        add_custom_command(OUTPUT ${capi_whole}
            COMMAND ${CMAKE_LINKER} -r -o ${capi_whole} ${capi_objects}
            COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${capi_whole}
            DEPENDS ${capi_objects} COMMAND_EXPAND_LISTS VERBATIM
            COMMENT "Joining the objects of libopscope")
        set_source_files_properties(${capi_whole} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
        set(capi_objects ${capi_whole})
    endif()
    add_library(opscope_static STATIC ${capi_objects})
    set_target_properties(opscope_static PROPERTIES OUTPUT_NAME opscope LINKER_LANGUAGE C)
    install(TARGETS opscope_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    # the file finds its prefix from where it lies, so that DESTDIR and a moved tree work
    file(RELATIVE_PATH OSC_PC_UP "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
    configure_file(cmake/opscope.pc.in opscope.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/opscope.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
