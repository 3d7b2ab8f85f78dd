/* test_export_members.c - several tables as one JSON object: values exact, texts quoted, whole numbers plain. */
#include "tap.h"

#include "base/json.h"
#include "scope/export/export.h"

static osc_table *fields_table(void)
{
    static const osc_table_column columns[] = {
        {"field", "", "", OSC_CELL_STR, OSC_UNIT_NONE, false},
        {"value", "", "", OSC_CELL_F64, OSC_UNIT_NONE, false},
        {"text", "", "", OSC_CELL_STR, OSC_UNIT_NONE, false},
        {"is_text", "", "", OSC_CELL_BOOL, OSC_UNIT_NONE, false},
    };
    static const struct {
        const char *field;
        double value;
        const char *text;
    } rows[] = {{"count", 3, NULL},   {"share", 0.125, NULL},   {"large", 9007199254740993.0, NULL},
                {"big", 1e300, NULL}, {"name", 0, "a \"b\"\n"}, {"odd\"key", -2, NULL}};
    osc_table *t = osc_table_new("fields", columns, 4);
    for (uint32_t r = 0; t && r < sizeof rows / sizeof *rows; r++) {
        osc_table_add_row(t);
        osc_table_set_str(t, r, 0, osc_str_from_cstr(rows[r].field));
        osc_table_set_f64(t, r, 1, rows[r].value);
        osc_table_set_str(t, r, 2, osc_str_from_cstr(rows[r].text));
        osc_table_set_bool(t, r, 3, rows[r].text != NULL);
    }
    return t;
}

static osc_table *rows_table(uint32_t n)
{
    static const osc_table_column columns[] = {{"n", "", "", OSC_CELL_I64, OSC_UNIT_NONE, false}};
    osc_table *t = osc_table_new("rows", columns, 1);
    for (uint32_t r = 0; t && r < n; r++) {
        osc_table_add_row(t);
        osc_table_set_i64(t, r, 0, r);
    }
    return t;
}

static void test_members(void)
{
    osc_table *fields = fields_table(), *two = rows_table(2), *none = rows_table(0);
    osc_buf out;
    TAP_REQUIRE(fields && two && none);
    const osc_export_member members[] = {
        {"summary", fields, true}, {"rows", two, false}, {"none", none, false}};
    osc_buf_init(&out, SIZE_MAX);
    osc_export_json_members(members, 3, &out);
    TAP_EQ_VIEW(osc_buf_view(&out), "{\"version\":1,\n\"summary\":{\"count\":3,\"share\":0.125,"
                                    "\"large\":9007199254740992,\"big\":1e+300,"
                                    "\"name\":\"a \\\"b\\\"\\n\",\"odd\\\"key\":-2},\n"
                                    "\"rows\":[\n{\"n\":0},\n{\"n\":1}],\n\"none\":[]}\n");
    osc_json j;
    osc_json_init(&j, (const char *)out.data, out.len);
    while (osc_json_next(&j).type > OSC_JSON_ERROR)
        continue;
    TAP_EQ_STATUS(j.status, OSC_OK);
    osc_buf_free(&out);
    osc_table_free(fields);
    osc_table_free(two);
    osc_table_free(none);
}

int main(void)
{
    TAP_RUN(test_members);
    return tap_done();
}
