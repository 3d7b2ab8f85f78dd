# Compiler flags of every C file (coding style, rule 2).
include(CheckCCompilerFlag)

add_library(osc_flags INTERFACE)
target_include_directories(osc_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(osc_flags INTERFACE _GNU_SOURCE OSC_VERSION="${PROJECT_VERSION}")
# -ffp-contract=off: computed values must not depend on whether the host has fused multiply-add.
# C only: the PyTorch extension links the rooms too and has its own flags (python.cmake).
target_compile_options(osc_flags INTERFACE
    $<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra;-Wshadow;-Wconversion;-Wundef;-Wstrict-prototypes;-Wmissing-prototypes;-Wvla;-Wformat=2;-Wcast-qual;-fno-common;-fvisibility=hidden;-ffp-contract=off>)
if(OSC_WERROR)
    target_compile_options(osc_flags INTERFACE -Werror)
endif()
if(OSC_SANITIZE)
    target_compile_options(osc_flags INTERFACE
        -fsanitize=${OSC_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(osc_flags INTERFACE -fsanitize=${OSC_SANITIZE})
endif()
if(OSC_FUZZ)
    # coverage of the rooms guides the fuzzer; the programs themselves add its main
    target_compile_options(osc_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
