/* --query-gpu and the other selective queries. */
#include "query.h"

#include "text.h"

#include <string.h>

static int is_offered(const struct field *field)
{
    return (!field->first || since(field->first)) && !(field->until && since(field->until));
}

static const struct field *find_field(const struct field_list *list, const char *name)
{
    for (const struct field *f = list->fields; f < list->fields + list->count; f++)
        if (is_offered(f) && (!strcmp(f->name, name) || (f->alias && !strcmp(f->alias, name))))
            return f;
    return 0;
}

static int parse_format(struct query *query, const char *format)
{
    char words[64], *cursor;
    int csv = 0;
    query->header = query->units = 1;
    if (!format)
        return complain("\"--format=\" switch is missing. Please run 'nvidia-smi -h' for help.");
    if (copy_text(words, sizeof words, format))
        return complain("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.");
    for (char *word = strtok_r(words, ", ", &cursor); word; word = strtok_r(0, ", ", &cursor))
        if (!strcmp(word, "csv"))
            csv = 1;
        else if (!strcmp(word, "noheader"))
            query->header = 0;
        else if (!strcmp(word, "nounits"))
            query->units = 0;
        else
            csv = -99;
    return csv > 0 ? 0 : complain("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.");
}

int query_parse(struct query *query, const struct request *request, const struct field_list *list)
{
    char words[16384], *cursor;
    memset(query, 0, sizeof *query);
    int failed = parse_format(query, request->format);
    if (failed)
        return failed;
    if (copy_text(words, sizeof words, request->value))
        return complain("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.");
    for (char *name = strtok_r(words, ", ", &cursor); name; name = strtok_r(0, ", ", &cursor)) {
        const struct field *field = find_field(list, name);
        if (!field || query->count == QUERY_FIELDS) {
            printf("Field \"%s\" is not a valid field to query.\n\n", name);
            return EXIT_ARGUMENT;
        }
        query->column[query->count++] = field;
    }
    return 0;
}

void query_header(const struct query *query)
{
    for (unsigned i = 0; query->header && i < query->count; i++) {
        const char *unit = query->column[i]->property.unit, *end = i + 1 < query->count ? ", " : "\n";
        if (unit)
            printf("%s [%s]%s", query->column[i]->name, unit + 1, end);
        else
            printf("%s%s", query->column[i]->name, end);
    }
}

void query_value(const struct query *query, unsigned column, const struct value *value)
{
    const struct field *field = query->column[column];
    const char *unit = value->code || !query->units || !field->property.unit ? "" : field->property.unit;
    int brackets = value->code && !field->plain;
    printf("%s%s%s%s%s", brackets ? "[" : "", value_text(value), brackets ? "]" : "", unit,
           column + 1 < query->count ? ", " : "\n");
}

void query_property(const struct query *query, unsigned column, nvmlDevice_t gpu)
{
    struct value value;
    const struct property *property = &query->column[column]->property;
    property->get(&value, gpu, property->which);
    query_value(query, column, &value);
}

int smi_query_gpu(const struct request *request, const struct selection *gpus)
{
    struct query query;
    int failed = query_parse(&query, request, &gpu_fields);
    if (failed)
        return failed;
    query_header(&query);
    for (unsigned i = 0; i < gpus->count; i++)
        for (unsigned column = 0; column < query.count; column++)
            query_property(&query, column, gpus->gpu[i]);
    return 0;
}
