#include "text.h"

#include <string.h>

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

unsigned long parse_hex(const char *text, char **end)
{
    unsigned long value = 0;
    while (digit(*text) < 16)
        value = value * 16 + digit(*text++);
    if (end)
        *end = (char *)text;
    return value;
}

long parse_number(const char *text, char **end)
{
    long sign = 1, value = 0;
    if (*text == '-') {
        sign = -1;
        text++;
    }
    if (text[0] == '0' && text[1] == 'x')
        return sign * (long)parse_hex(text + 2, end);
    while (digit(*text) < 10)
        value = value * 10 + digit(*text++);
    if (end)
        *end = (char *)text;
    return sign * value;
}

unsigned long long parse_wide(const char *text)
{
    unsigned base = text[0] == '0' && text[1] == 'x' ? 16 : 10;
    unsigned long long value = 0;
    for (text += base == 16 ? 2 : 0; digit(*text) < (int)base; text++)
        value = value * base + digit(*text);
    return value;
}

char *next_token(char **cursor)
{
    char *start = *cursor + strspn(*cursor, " \t\r\n");
    if (!*start)
        return 0;
    char *end = start + strcspn(start, " \t\r\n");
    *cursor = *end ? end + 1 : end;
    *end = 0;
    return start;
}

char *token_value(char *token)
{
    char *sign = strchr(token, '=');
    if (!sign)
        return 0;
    *sign = 0;
    return sign + 1;
}

int copy_text(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);
    if (length >= size)
        return -1;
    memcpy(to, from, length + 1);
    return 0;
}
