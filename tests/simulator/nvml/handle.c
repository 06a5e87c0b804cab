/* Handles are interned: the same object has the same pointer for the life of the process, also after it is gone. */
#include "call.h"

#include <pthread.h>
#include <stdlib.h>

struct entry {
    struct handle handle;
    struct entry *next;
};

static struct entry *entries;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct entry *find(enum handle_kind kind, unsigned gpu, unsigned gi, unsigned ci)
{
    for (struct entry *e = entries; e; e = e->next)
        if (e->handle.kind == kind && e->handle.gpu == gpu && e->handle.gi == gi && e->handle.ci == ci)
            return e;
    return 0;
}

void *handle_of(enum handle_kind kind, unsigned gpu, unsigned gi, unsigned ci)
{
    pthread_mutex_lock(&mutex);
    struct entry *entry = find(kind, gpu, gi, ci);
    if (!entry && (entry = malloc(sizeof *entry))) {
        entry->handle = (struct handle){kind, gpu, gi, ci};
        entry->next = entries;
        entries = entry;
    }
    pthread_mutex_unlock(&mutex);
    return entry;
}

const struct handle *handle_check(const void *pointer)
{
    const struct handle *found = 0;
    pthread_mutex_lock(&mutex);
    for (struct entry *e = entries; e && !found; e = e->next)
        if (e == pointer)
            found = &e->handle;
    pthread_mutex_unlock(&mutex);
    return found;
}
