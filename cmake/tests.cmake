# Tests of the C core: unit tests, header self-containment, fuzz corpus replay, -m32 builds.
#
#   tests/unit/test_<room>_<topic>.c   one program each, linked with every room
#   tests/fuzz/fuzz_<room>_<topic>.c   one target each, corpus in tests/fuzz/corpus/<room>_<topic>/
#   tests/capi/*.c, examples/c/*.c     plain C users of include/opscope, one program each

add_library(osc_tap STATIC tests/tap.c)
target_include_directories(osc_tap PUBLIC tests)
target_compile_definitions(osc_tap PUBLIC OSC_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                          OSC_BINARY_DIR="${PROJECT_BINARY_DIR}")
target_link_libraries(osc_tap PUBLIC osc_flags ${OSC_ROOM_LIBS})

# Environment of every test: sanitizer reports must be failures.
set(OSC_TEST_ENV
    "ASAN_OPTIONS=abort_on_error=0:detect_leaks=1:allocator_may_return_null=1"
    "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1"
    "TSAN_OPTIONS=halt_on_error=1:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp")

file(GLOB unit_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/test_*.c)
foreach(source ${unit_tests})
    get_filename_component(name ${source} NAME_WE)
    osc_wanted(wanted ${name})
    if(NOT wanted)
        continue()
    endif()
    add_executable(${name} ${source})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_link_libraries(${name} PRIVATE osc_tap)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${OSC_TEST_ENV}" TIMEOUT 300 LABELS unit)
endforeach()

file(GLOB capi_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/capi/*.c
                                           ${PROJECT_SOURCE_DIR}/examples/c/*.c)
if(NOT TARGET osc_runtime OR NOT TARGET osc_api)
    set(capi_tests "")
endif()
set(capi_arguments_trace_top ${PROJECT_SOURCE_DIR}/tests/data/scope/cuda.json)
foreach(source ${capi_tests})
    get_filename_component(name ${source} NAME_WE)
    add_executable(capi_${name} ${source})
    set_target_properties(capi_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_link_libraries(capi_${name} PRIVATE ${OSC_ROOM_LIBS})
    add_test(NAME capi_${name} COMMAND capi_${name} ${capi_arguments_${name}})
    set_tests_properties(capi_${name} PROPERTIES ENVIRONMENT "${OSC_TEST_ENV}" TIMEOUT 300 LABELS unit)
endforeach()

# Each header compiles alone: one generated .c per header.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.h
                                            ${PROJECT_SOURCE_DIR}/include/*.h)
set(header_sources "")
foreach(header ${headers})
    file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR} ${header})
    string(REPLACE "/" "_" flat ${relative})
    set(generated ${CMAKE_BINARY_DIR}/headers/${flat}.c)
    file(CONFIGURE OUTPUT ${generated}
         CONTENT "#include \"@header@\"\n#include \"@header@\"\nextern int osc_header_alone;\n" @ONLY)
    list(APPEND header_sources ${generated})
endforeach()
if(header_sources)
    add_library(osc_headers OBJECT EXCLUDE_FROM_ALL ${header_sources})
    target_link_libraries(osc_headers PRIVATE osc_flags)
    add_test(NAME headers_compile_alone
             COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target osc_headers)
    set_tests_properties(headers_compile_alone PROPERTIES TIMEOUT 300 LABELS unit RUN_SERIAL ON)
endif()

file(GLOB fuzz_targets CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
foreach(source ${fuzz_targets})
    get_filename_component(target ${source} NAME_WE)
    string(REGEX REPLACE "^fuzz_" "" name ${target})
    osc_wanted(wanted ${target})
    if(NOT wanted)
        continue()
    endif()
    set(corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
    if(OSC_FUZZ)
        add_executable(${target} ${source})
        target_compile_options(${target} PRIVATE -fsanitize=fuzzer)
        target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    else()
        add_executable(${target} ${source} tests/fuzz/replay_main.c)
        add_test(NAME ${target} COMMAND ${target} ${corpus})
        set_tests_properties(${target} PROPERTIES ENVIRONMENT "${OSC_TEST_ENV}" TIMEOUT 300 LABELS fuzz)
    endif()
    target_link_libraries(${target} PRIVATE osc_tap)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
endforeach()

if(OSC_M32)
    include(cmake/m32.cmake)
endif()
