/*
 * calls_names.c - names as rows of key_averages show them (kineto-trace-format.md 2.1 items 2, 3).
 *
 * Overloads are cut, steps share a name, mangled kernels are demangled, some names are left out.
 * Each distinct name of the store is treated once.
 */
#include "scope/analysis/calls_internal.h"

#include "base/mem.h"

#include <ctype.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* "aten::add.Tensor" -> "aten::add"; other names unchanged. Pattern: word::word.identifier */
static osc_str cut_overload(osc_str name)
{
    size_t dot = osc_str_rfind_char(name, '.');
    size_t colons = osc_str_find(name, OSC_STR("::"));
    if (dot == SIZE_MAX || colons == SIZE_MAX || colons == 0 || dot <= colons + 2 ||
        dot + 1 >= name.len)
        return name;
    for (size_t i = 0; i < name.len; i++) {
        bool fixed = i == dot || i == colons || i == colons + 1;
        if (!fixed && !is_word(name.ptr[i]))
            return name;
    }
    if (isdigit((unsigned char)name.ptr[dot + 1]))
        return name;
    return osc_str_sub(name, 0, dot);
}

void osc_calls_drop_names(osc_calls *c)
{
    static const osc_str dropped[] = {
        OSC_STR_INIT("profiler::_record_function_enter"),
        OSC_STR_INIT("profiler::_record_function_enter_new"),
        OSC_STR_INIT("profiler::_record_function_exit"),
        OSC_STR_INIT("aten::is_leaf"),
        OSC_STR_INIT("aten::output_nr"),
        OSC_STR_INIT("aten::_version"),
    };
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
        uint32_t text = osc_store_lookup(c->store, dropped[i]);
        if (text != OSC_NO_ROW)
            c->name_map[(size_t)text * 2] = c->name_map[(size_t)text * 2 + 1] = CALLS_NAME_DROPPED;
    }
}

/* The row name of a text; OSC_INTERN_NONE when memory is out. */
static uint32_t put(struct calls_build *b, osc_str name, bool cut)
{
    osc_intern *names = b->calls->names;
    if (osc_str_starts(name, OSC_STR("ProfilerStep#")))
        return osc_intern_put(names, OSC_STR("ProfilerStep*"));
    if (cut)
        name = cut_overload(name);
    if (!osc_str_starts(name, OSC_STR("_Z")))
        return osc_intern_put(names, name);
    char *plain = osc_demangle(&b->demangler, name);
    uint32_t id = osc_intern_put(names, plain ? osc_str_from_cstr(plain) : name);
    osc_free(plain);
    return id;
}

/* In order of the store's texts, so that numbers do not depend on which worker met a name first. */
bool osc_calls_learn_names(struct calls_build *b)
{
    osc_calls *c = b->calls;
    size_t count = (size_t)osc_store_text_count(c->store) * 2;
    for (size_t i = 0; i < count; i++) {
        if (c->name_map[i] != CALLS_NAME_WANTED)
            continue;
        c->name_map[i] = put(b, osc_store_text(c->store, (uint32_t)(i / 2)), i % 2);
        if (c->name_map[i] == OSC_INTERN_NONE)
            return false;
    }
    return true;
}
