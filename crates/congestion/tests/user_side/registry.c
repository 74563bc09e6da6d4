// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Finds algorithms and their parameters by name. */
#include "user.h"
#include <string.h>

static struct tcp_congestion_ops *algorithms;
static struct user_parameter *parameters;

void user_has_algorithm(struct tcp_congestion_ops *algorithm)
{
	algorithm->next = algorithms;
	algorithms = algorithm;
}

void user_has_parameter(struct user_parameter *parameter)
{
	parameter->next = parameters;
	parameters = parameter;
}

const struct tcp_congestion_ops *user_algorithm(const char *name)
{
	struct tcp_congestion_ops *its;

	for (its = algorithms; its && strcmp(its->name, name); its = its->next)
		;
	return its;
}

__u32 *user_parameter(const char *algorithm, const char *name)
{
	struct user_parameter *its;

	for (its = parameters; its; its = its->next)
		if (!strcmp(its->algorithm, algorithm) && !strcmp(its->name, name))
			return its->value;
	return NULL;
}

/* Lets the Rust side of the test check that it has the same layout. */
size_t user_connection_size(void)
{
	return sizeof(struct sock);
}
