# The C++ demangler inside the program: one C object of the compiler's own support library, 47 KB, which needs
# nothing of C++ itself. Without it the program loads libstdc++ at the first mangled name, which takes 0.5 ms.
function(osc_use_demangler program)
    if(NOT TARGET ${program} OR OSC_SANITIZE)
        return()
    endif()
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libsupc++.a
                    OUTPUT_VARIABLE library OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(IS_ABSOLUTE "${library}" AND EXISTS "${library}")
        # demangle.c refers to it weakly, which alone takes nothing out of an archive
        target_link_options(${program} PRIVATE -Wl,--undefined=__cxa_demangle)
        target_link_libraries(${program} PRIVATE ${library})
        message(STATUS "C++ names: by ${library}, linked in")
    else()
        message(STATUS "C++ names: by libstdc++, loaded when needed")
    endif()
endfunction()
