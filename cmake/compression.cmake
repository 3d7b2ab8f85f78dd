# Libraries that inflate compressed traces faster (ISA-L) or at all (zstd). Both are optional, and only
# their headers are needed here: the program loads the libraries when it meets such a file.
option(OSC_ISAL "Inflate gzip with ISA-L where it is installed" ON)
option(OSC_ZSTD "Read zstd-compressed traces" ON)

find_path(OSC_ISAL_HEADER isa-l/igzip_lib.h)
find_path(OSC_ZSTD_HEADER zstd.h)
mark_as_advanced(OSC_ISAL_HEADER OSC_ZSTD_HEADER)

# osc_use_compression(): what room base is compiled with.
function(osc_use_compression)
    if(NOT TARGET osc_base)
        return()
    endif()
    target_link_libraries(osc_base PUBLIC ${CMAKE_DL_LIBS})
    # the libraries' structures are those of 64-bit machines
    if(OSC_ISAL AND OSC_ISAL_HEADER AND CMAKE_SIZEOF_VOID_P EQUAL 8)
        target_compile_definitions(osc_base PRIVATE OSC_HAVE_ISAL)
        message(STATUS "gzip: ISA-L, loaded when needed; else zlib")
    else()
        message(STATUS "gzip: zlib (ISA-L is not there: libisal-dev)")
    endif()
    if(OSC_ZSTD AND OSC_ZSTD_HEADER)
        target_compile_definitions(osc_base PRIVATE OSC_HAVE_ZSTD)
        message(STATUS "zstd: loaded when needed")
    else()
        message(STATUS "zstd: not built in (libzstd-dev)")
    endif()
endfunction()
