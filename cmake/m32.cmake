# A 32-bit build of the rooms that only handle bytes (base, isa, artifact) and of their tests, to find
# assumptions about the width of size_t. Needs gcc-multilib; without it a STATUS line says so. 32-bit
# compression libraries are not wanted here: with OSC_NO_ZLIB gzip is OSC_EUNSUPPORTED, and without
# OSC_HAVE_ISAL and OSC_HAVE_ZSTD so is the rest.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS "-m32")
check_c_source_compiles("#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }" OSC_HAVE_M32)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT OSC_HAVE_M32)
    message(STATUS "-m32: the compiler cannot (gcc-multilib is not installed)")
    return()
endif()

set(m32_sources "")
foreach(room base isa artifact)
    if(TARGET osc_${room})
        file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.c)
        list(APPEND m32_sources ${found})
    endif()
endforeach()
add_library(osc_m32 STATIC ${m32_sources} tests/tap.c)
target_include_directories(osc_m32 PUBLIC tests)
target_compile_definitions(osc_m32 PUBLIC OSC_NO_ZLIB OSC_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                          OSC_BINARY_DIR="${PROJECT_BINARY_DIR}")
# SSE2 so that doubles are rounded as on the 64-bit host and not kept in 80 bits.
target_compile_options(osc_m32 PUBLIC -m32 -msse2 -mfpmath=sse -Wno-psabi)
target_link_options(osc_m32 PUBLIC -m32)
target_link_libraries(osc_m32 PUBLIC osc_flags Threads::Threads m)

file(GLOB m32_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/test_base_*.c
     ${PROJECT_SOURCE_DIR}/tests/unit/test_isa_*.c ${PROJECT_SOURCE_DIR}/tests/unit/test_artifact_*.c)
foreach(source ${m32_tests})
    get_filename_component(name ${source} NAME_WE)
    osc_wanted(wanted ${name})
    if(NOT wanted)
        continue()
    endif()
    add_executable(${name}_m32 ${source})
    set_target_properties(${name}_m32 PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_link_libraries(${name}_m32 PRIVATE osc_m32)
    add_test(NAME ${name}_m32 COMMAND ${name}_m32)
    set_tests_properties(${name}_m32 PROPERTIES TIMEOUT 300 LABELS m32)
endforeach()
