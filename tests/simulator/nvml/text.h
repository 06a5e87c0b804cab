/* Text helpers. Own number parsing: strtol and sscanf would tie the library to the newest glibc of the build machine. */
#ifndef SIMHW_TEXT_H
#define SIMHW_TEXT_H

#include <stddef.h>

long parse_number(const char *text, char **end); /* decimal, or hex after 0x; a leading minus is allowed */
unsigned long long parse_wide(const char *text); /* decimal, or hex after 0x */
unsigned long parse_hex(const char *text, char **end);
char *next_token(char **cursor);               /* words between blanks; NULL at the end of the line */
char *token_value(char *token);                /* "key=value": cuts at the sign and returns the value, or NULL */
int copy_text(char *to, size_t size, const char *from); /* 0, or -1 when it does not fit */

#endif
