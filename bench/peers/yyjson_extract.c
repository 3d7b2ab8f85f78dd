/*
 * yyjson_extract.c - count and duration of every event with yyjson, a DOM in C.
 *
 *     yyjson_extract FILE           prints one JSON object
 *
 * The whole document becomes a tree, then its events are walked. Built only where yyjson is installed.
 */
#include <stdio.h>
#include <yyjson.h>

int main(int argc, char **argv)
{
    yyjson_read_err error;
    size_t i, n, events = 0;
    yyjson_val *event;
    double sum = 0;
    yyjson_doc *document = argc > 1 ? yyjson_read_file(argv[1], 0, NULL, &error) : NULL;
    if (!document) {
        fprintf(stderr, "yyjson_extract: cannot read %s\n", argc > 1 ? argv[1] : "nothing");
        return 1;
    }
    yyjson_val *all = yyjson_obj_get(yyjson_doc_get_root(document), "traceEvents");
    yyjson_arr_foreach(all, i, n, event)
    {
        const char *phase = yyjson_get_str(yyjson_obj_get(event, "ph"));
        if (!phase || phase[0] != 'X')
            continue;
        events++;
        sum += yyjson_get_num(yyjson_obj_get(event, "dur"));
    }
    printf("{\"events\": %zu, \"dur_us\": %.3f}\n", events, sum);
    yyjson_doc_free(document);
    return 0;
}
