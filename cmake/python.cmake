# The extension module torch_neuronx._C, built into python/torch_neuronx for use from the tree.
#
# torch is found without importing it (that takes seconds). Compiled as C++20, as torch 2.13 itself.
file(GLOB_RECURSE csrc CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/csrc/*.cpp)
if(NOT OSC_PYTHON)
    message(STATUS "python extension: OSC_PYTHON not set")
    return()
endif()
if(NOT csrc)
    message(STATUS "python extension: no python/csrc/*.cpp")
    return()
endif()
if(OSC_SANITIZE)
    message(STATUS "python extension: not built with sanitizers")
    return()
endif()

execute_process(
    COMMAND ${OSC_PYTHON} ${PROJECT_SOURCE_DIR}/tools/find_torch.py
    OUTPUT_VARIABLE found RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
if(failed)
    message(STATUS "python extension: ${OSC_PYTHON} has no torch or no Python.h")
    return()
endif()
list(GET found 0 torch_dir)
list(GET found 1 python_include)
list(GET found 2 ext_suffix)

set(CMAKE_CXX_FLAGS_RELEASE "")
set(CMAKE_CXX_FLAGS_DEBUG "")
set(OSC_PYTHON_OUTPUT ${PROJECT_SOURCE_DIR}/python/torch_neuronx CACHE PATH "Where the extension is put")
enable_language(CXX)
add_library(torch_neuronx_C MODULE ${csrc})
set_target_properties(torch_neuronx_C PROPERTIES
    PREFIX "" OUTPUT_NAME "_C" SUFFIX "${ext_suffix}"
    LIBRARY_OUTPUT_DIRECTORY ${OSC_PYTHON_OUTPUT}
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    BUILD_RPATH "$ORIGIN/../torch/lib;${torch_dir}/lib"
    BUILD_RPATH_USE_ORIGIN ON)
target_include_directories(torch_neuronx_C PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_include_directories(torch_neuronx_C SYSTEM PRIVATE
    ${torch_dir}/include ${torch_dir}/include/torch/csrc/api/include ${torch_dir}/include/kineto
    ${python_include})
target_compile_definitions(torch_neuronx_C PRIVATE
    NDEBUG FMT_HEADER_ONLY=1 USE_KINETO TORCH_EXTENSION_NAME=_C OSC_VERSION="${PROJECT_VERSION}")
target_compile_options(torch_neuronx_C PRIVATE -O2 -g0 -Wall -Wextra -ffp-contract=off)
if(OSC_WERROR)
    target_compile_options(torch_neuronx_C PRIVATE -Werror)
endif()
target_link_directories(torch_neuronx_C PRIVATE ${torch_dir}/lib)
target_link_libraries(torch_neuronx_C PRIVATE ${OSC_ROOM_LIBS} torch_cpu torch_python torch c10)
# Only the module's init function is seen from outside.
target_link_options(torch_neuronx_C PRIVATE -Wl,--exclude-libs,ALL)

# precompile the torch headers once: they are most of each file's compile time
if(EXISTS ${PROJECT_SOURCE_DIR}/python/csrc/pch.h)
    target_precompile_headers(torch_neuronx_C PRIVATE ${PROJECT_SOURCE_DIR}/python/csrc/pch.h)
endif()
