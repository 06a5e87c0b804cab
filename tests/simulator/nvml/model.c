#include "model.h"

#include <string.h>

const struct model *model_by_key(const char *key)
{
    for (unsigned i = 0; i < model_count; i++)
        if (!strcmp(models[i].key, key))
            return &models[i];
    return 0;
}

const struct gi_profile *profile_by_id(const struct model *model, unsigned id)
{
    for (unsigned i = 0; i < model->profile_count; i++)
        if (model->profiles[i].id == id)
            return &model->profiles[i];
    return 0;
}

const struct gi_profile *profile_by_enum(const struct model *model, unsigned profile)
{
    for (unsigned i = 0; i < model->profile_count; i++)
        if (model->profiles[i].profile == profile)
            return &model->profiles[i];
    return 0;
}
