/* Selective queries: tables of fields, written as CSV. */
#ifndef SIMHW_QUERY_H
#define SIMHW_QUERY_H

#include "properties.h"

struct field {
    const char *name, *alias; /* the name heads the column, whichever of the two was asked for */
    struct property property;
    unsigned first, until; /* branches, as for since() */
    int plain;             /* N/A without brackets */
};

struct field_list {
    const char *option; /* without dashes */
    const struct field *fields;
    unsigned count;
};

#define QUERY_FIELDS 384

/* The columns that a query asks for, and the line that a value is written to. */
struct query {
    const struct field *column[QUERY_FIELDS];
    unsigned count;
    int header, units;
};

extern const struct field_list gpu_fields, app_list, account_list, page_list, row_list;

/* 0, or the exit code with its text printed. */
int query_parse(struct query *query, const struct request *request, const struct field_list *list);
void query_header(const struct query *query);
void query_value(const struct query *query, unsigned column, const struct value *value);
void query_property(const struct query *query, unsigned column, nvmlDevice_t gpu);

#endif
