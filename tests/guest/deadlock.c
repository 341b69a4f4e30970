/* SPDX-License-Identifier: MIT */
/* Locks a mutex twice. */
#include <pthread.h>

int main(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	pthread_mutex_lock(&lock);
	return 0;
}
