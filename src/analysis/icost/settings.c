/* SPDX-License-Identifier: MIT */
/* Looks settings up by section and key; there are some hundred, and each is asked for once a run.
 */
#include "analysis/icost/settings.h"

#include <stdlib.h>
#include <string.h>

const char *setting_text(const struct trace_info *info, const char *section, const char *key)
{
	for (size_t i = 0; info && i < info->nsettings; i++)
		if (!strcmp(info->settings[i].section, section) &&
		    !strcmp(info->settings[i].key, key))
			return info->settings[i].value;
	return NULL;
}

uint64_t setting_number(const struct trace_info *info, const char *section, const char *key,
			uint64_t otherwise)
{
	const char *text = setting_text(info, section, key);
	char *end;
	if (!text)
		return otherwise;
	const uint64_t n = strtoull(text, &end, 0);
	return *end == 'k' ? n << 10 : *end == 'M' ? n << 20 : n;
}

bool setting_is(const struct trace_info *info, const char *section, const char *key,
		const char *value)
{
	const char *text = setting_text(info, section, key);
	return text && !strcmp(text, value);
}

bool setting_on(const struct trace_info *info, const char *section, const char *key)
{
	return setting_is(info, section, key, "yes") || setting_is(info, section, key, "on") ||
	       setting_is(info, section, key, "1");
}
