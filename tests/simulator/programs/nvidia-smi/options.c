/* Command lines in the form that nvidia-smi takes: -pm 1, --persistence-mode=1, --persistence-mode 1. */
#include "smi.h"

#include <string.h>

int complain(const char *text)
{
    puts(text);
    return EXIT_ARGUMENT;
}

/* A verb is the first word; whatever has no dash after it is a value. */
int refuse_missing(const char *missing, int count, char **words)
{
    char word[64];
    for (int i = 1; i < count; i++) {
        int length = snprintf(word, sizeof word, " %.*s ", (int)strcspn(words[i], "="), words[i]);
        int is_value = strchr(words[i], ' ') || (i > 1 && words[i][0] != '-');
        if (!is_value && length < (int)sizeof word && strstr(missing, word)) {
            fprintf(stderr, "nvidia-smi (simulated):%sis not simulated\n", word);
            return EXIT_NOT_AVAILABLE;
        }
    }
    return 0;
}

static int matches(const char *word, size_t length, const char *name)
{
    return name && strlen(name) == length && !strncmp(word, name, length);
}

static const struct option_row *find(const struct option_row *rows, unsigned count, const char *word, size_t length)
{
    for (const struct option_row *row = rows; row < rows + count; row++)
        if (matches(word, length, row->brief) || matches(word, length, row->full))
            return row;
    return 0;
}

static int refuse(const char *word, const char *fault)
{
    printf("ERROR: Option %s %s. Please run 'nvidia-smi -h' for help.\n", word, fault);
    return -1;
}

int next_option(const struct option_row *rows, unsigned count, struct command_line *line, const char **value)
{
    *value = 0;
    if (line->next >= line->count)
        return 0;
    const char *word = line->words[line->next++];
    size_t length = strcspn(word, "=");
    const struct option_row *row = find(rows, count, word, length);
    if (!row || (word[length] && row->value == WITHOUT_VALUE))
        return refuse(word, "is not recognized");
    if (word[length])
        *value = word + length + 1;
    else if (row->value != WITHOUT_VALUE && line->next < line->count && line->words[line->next][0] != '-')
        *value = line->words[line->next++];
    if (row->value == WITH_VALUE && (!*value || !**value))
        return refuse(word, "is missing its value");
    return row->key;
}
