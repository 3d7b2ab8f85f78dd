# osc_room(name folder): the static library osc_<name> of all .c files in a folder and below it.
# A room without .c files is not built; the lists OSC_ROOM_LIBS (in link order, highest first) and
# OSC_ROOM_TARGETS hold those that are.
set(OSC_ROOM_LIBS "")
set(OSC_ROOMS "" CACHE STRING "Build only these rooms and their tests, e.g. base;isa (empty: all)")

# osc_wanted(out name): false when OSC_ROOMS leaves out the room of a test named <kind>_<room>_<topic>.
function(osc_wanted out name)
    string(REGEX REPLACE "^[a-z]+_([a-z]+).*$" "\\1" room ${name})
    set(${out} ON PARENT_SCOPE)
    if(OSC_ROOMS AND NOT room IN_LIST OSC_ROOMS)
        set(${out} OFF PARENT_SCOPE)
    endif()
endfunction()

function(osc_room name folder)
    if(OSC_ROOMS AND NOT name IN_LIST OSC_ROOMS)
        return()
    endif()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c)
    if(NOT sources)
        message(STATUS "room ${name}: no sources")
        return()
    endif()
    add_library(osc_${name} STATIC ${sources})
    target_link_libraries(osc_${name} PUBLIC osc_flags ${OSC_ROOM_LIBS} ZLIB::ZLIB Threads::Threads m)
    set(OSC_ROOM_LIBS osc_${name} ${OSC_ROOM_LIBS} PARENT_SCOPE)
endfunction()

# osc_program(name folder): the executable build/<name>, once the folder has a main.c.
function(osc_program name folder)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c)
    if(OSC_ROOMS AND NOT cli IN_LIST OSC_ROOMS)
        return()
    endif()
    if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${folder}/main.c)
        message(STATUS "program ${name}: no ${folder}/main.c")
        return()
    endif()
    add_executable(${name} ${sources})
    target_link_libraries(${name} PRIVATE osc_flags ${OSC_ROOM_LIBS})
    # a library that nothing is taken from (libm, mostly) is not worth 60 us of every start
    target_link_options(${name} PRIVATE -Wl,--as-needed)
endfunction()
