/*
 * test_isa_docs.c - docs/isa.md says what the tables say.
 *
 * Each generated region is rendered from the tables and compared with the file. With
 * OPSCOPE_REGEN_DOCS=1 in the environment the regions are rewritten instead.
 */
#include "tap.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "isa/isa.h"
#include "isa/sheet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_engines(osc_buf *out, uint32_t engines)
{
    const char *separator = "";
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++) {
        if (engines & 1u << e) {
            osc_buf_printf(out, "%s%s", separator, osc_engine_name((osc_engine)e));
            separator = ", ";
        }
    }
}

static void render_instructions(osc_buf *out)
{
    for (unsigned op = 0; op < OSC_OPCODE_COUNT; op++) {
        const osc_isa_row *row = osc_isa_row_of(op);
        osc_buf_printf(out, "### %s\n\n- **Opcode.** %u. **Engines.** ", row->name, op);
        put_engines(out, row->engines);
        osc_buf_printf(
            out, "\n- **Operands.** %s\n- **Semantics.** %s\n- **Cost.** %s\n- **Source.** %s\n%s",
            row->operands, row->semantics, row->cost, row->provenance,
            op + 1 < OSC_OPCODE_COUNT ? "\n" : "");
    }
}

static void render_operators(osc_buf *out)
{
    osc_buf_cstr(out, "| number | operator |\n|---:|---|\n");
    for (unsigned i = 0; i < OSC_ALU_COUNT; i++)
        osc_buf_printf(out, "| %u | %s |\n", i, osc_alu_name((osc_alu)i));
    osc_buf_cstr(out, "\n| number | activation function | set |\n|---:|---|---:|\n");
    for (unsigned i = 0; i < OSC_ACT_COUNT; i++)
        osc_buf_printf(out, "| %u | %s | %u |\n", i, osc_act_name((osc_act)i),
                       osc_act_set((osc_act)i));
    osc_buf_cstr(out, "\nSet 0: the function is in every set.\n");
}

static void render_sheet(osc_buf *out)
{
    size_t count;
    const osc_sheet_row *rows = osc_sheet_rows(&count);
    osc_buf_cstr(out, "| parameter | unit | trn1 | trn2 | trn3 | what it is | source |\n"
                      "|---|---|---:|---:|---:|---|---|\n");
    for (size_t i = 0; i < count; i++)
        osc_buf_printf(out, "| %s | %s | %.12g | %.12g | %.12g | %s | %s |\n", rows[i].name,
                       rows[i].unit, rows[i].value[0], rows[i].value[1], rows[i].value[2],
                       rows[i].meaning, rows[i].source);
}

typedef struct region {
    const char *name;
    void (*render)(osc_buf *out);
} region;

static const region REGIONS[] = {{"instructions", render_instructions},
                                 {"operators", render_operators},
                                 {"sheet", render_sheet}};

/* The text between the two marker lines; len SIZE_MAX when a marker is missing. */
static osc_str between(osc_str doc, const char *name)
{
    char begin[64], end[64];
    snprintf(begin, sizeof begin, "<!-- begin generated: %s -->\n", name);
    snprintf(end, sizeof end, "<!-- end generated: %s -->", name);
    size_t from = osc_str_find(doc, osc_str_from_cstr(begin)),
           to = osc_str_find(doc, osc_str_from_cstr(end));
    if (from == SIZE_MAX || to == SIZE_MAX || to < from + strlen(begin))
        return osc_str_make(NULL, SIZE_MAX);
    from += strlen(begin);
    return osc_str_sub(doc, from, to - from);
}

static void rewrite(const char *path)
{
    osc_err err = {0};
    for (size_t i = 0; i < sizeof REGIONS / sizeof REGIONS[0]; i++) {
        char *text;
        size_t len;
        osc_buf out;
        TAP_REQUIRE(osc_read_file(path, 1u << 24, &text, &len, &err) == OSC_OK);
        osc_str doc = osc_str_make(text, len), old = between(doc, REGIONS[i].name);
        TAP_REQUIRE(old.len != SIZE_MAX);
        osc_buf_init(&out, SIZE_MAX);
        osc_buf_str(&out, osc_str_sub(doc, 0, (size_t)(old.ptr - text)));
        REGIONS[i].render(&out);
        osc_buf_str(&out, osc_str_sub(doc, (size_t)(old.ptr - text) + old.len, SIZE_MAX));
        TAP_EQ_STATUS(osc_write_file_atomic(path, out.data, out.len, &err), OSC_OK);
        osc_buf_free(&out);
        osc_free(text);
    }
}

static void test_regions(void)
{
    char path[1024], *text;
    size_t len;
    osc_err err = {0};
    snprintf(path, sizeof path, "%s/docs/isa.md", tap_source_dir());
    if (getenv("OPSCOPE_REGEN_DOCS") != NULL)
        rewrite(path);
    TAP_REQUIRE(osc_read_file(path, 1u << 24, &text, &len, &err) == OSC_OK);
    for (size_t i = 0; i < sizeof REGIONS / sizeof REGIONS[0]; i++) {
        osc_buf want;
        osc_buf_init(&want, SIZE_MAX);
        REGIONS[i].render(&want);
        TAP_OKF(
            osc_str_eq(between(osc_str_make(text, len), REGIONS[i].name), osc_buf_view(&want)),
            "region '%s' of docs/isa.md is what the tables say (OPSCOPE_REGEN_DOCS=1 rewrites it)",
            REGIONS[i].name);
        osc_buf_free(&want);
    }
    osc_free(text);
}

/* A table row without words would render and compare equal all the same. */
static void test_rows_say_something(void)
{
    for (unsigned op = 0; op < OSC_OPCODE_COUNT; op++) {
        const osc_isa_row *row = osc_isa_row_of(op);
        TAP_REQUIRE(row != NULL && row->name != NULL);
        TAP_EQ_U64(row->opcode, op);
        TAP_OKF(row->engines != 0 && row->operands[0] && row->cost[0] && row->semantics[0] &&
                    row->provenance[0],
                "%s is described", row->name);
        for (unsigned other = 0; other < op; other++)
            TAP_OK(strcmp(row->name, osc_isa_row_of(other)->name) != 0);
    }
    TAP_OK(osc_isa_row_of(OSC_OPCODE_COUNT) == NULL);
}

int main(void)
{
    TAP_RUN(test_rows_say_something);
    TAP_RUN(test_regions);
    return tap_done();
}
