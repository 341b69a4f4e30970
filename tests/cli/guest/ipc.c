/* SPDX-License-Identifier: MIT */
/* Tests System V IPC: prints the result of each call. It is compiled for this machine and for the
 * guest, and both must print the same. Ids, addresses and times are not printed, only conditions on
 * them. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void say(const char *what, long result)
{
	printf("%s: %ld %s\n", what, result, result < 0 ? strerrorname_np(errno) : "");
}
#define SAY(call) say(#call, (long)(call))

static void on_alarm(int signo)
{
	(void)signo;
}

static void wait_for(pid_t pid)
{
	int status = 0;

	waitpid(pid, &status, 0);
	printf("child: %x\n", status);
}

static int shm_attached(int id)
{
	struct shmid_ds ds;

	return shmctl(id, IPC_STAT, &ds) ? -1 : (int)ds.shm_nattch;
}

static void shm(void)
{
	int id = shmget(IPC_PRIVATE, 10000, IPC_CREAT | 0600), other, gone;
	struct shmid_ds ds;
	char *a, *b, *c;
	pid_t pid;
	key_t key = (key_t)(0x43000000 + getpid());

	SAY(shmget(IPC_PRIVATE, 0, 0600));
	SAY(shmget(key, 100, 0600));
	other = shmget(key, 100, IPC_CREAT | IPC_EXCL | 0640);
	printf("made: %d\n", other >= 0 && other != id);
	SAY(shmget(key, 100, IPC_CREAT | IPC_EXCL | 0600));
	printf("again: %d\n", shmget(key, 50, 0600) == other);
	SAY(shmget(key, 5000, 0600));
	SAY(shmctl(other, IPC_STAT, &ds));
	printf("%zu bytes, mode %o, key %d, %lu attached, creator %d, last %d, times %d %d %d\n",
	       ds.shm_segsz, ds.shm_perm.mode, ds.shm_perm.__key == key,
	       (unsigned long)ds.shm_nattch, ds.shm_cpid == getpid(), ds.shm_lpid,
	       ds.shm_atime != 0, ds.shm_dtime != 0, ds.shm_ctime != 0);
	a = shmat(id, NULL, 0);
	b = shmat(id, NULL, SHM_RDONLY);
	strcpy(a, "written");
	printf("%d %s %d %d\n", a != b, b, a[9999], shm_attached(id));
	SAY((long)shmat(id, a + 4096, 0) == -1 ? -1 : 0);
	SAY((long)shmat(id, a + 1, 0) == -1 ? -1 : 0);
	SAY((long)shmat(-1, NULL, 0) == -1 ? -1 : 0);
	SAY((long)shmat(id, NULL, SHM_REMAP) == -1 ? -1 : 0);
	/* Attach a second time over a part of the same mapping; the address is rounded down. */
	c = shmat(other, a + 4096 + 17, SHM_RND | SHM_REMAP);
	printf("%d %d\n", c == a + 4096, shm_attached(other));
	strcpy(c, "other");
	printf("%s %s\n", a, b + 4096);
	SAY(shmdt(c));
	SAY(shmdt(c));
	SAY(shmdt(a + 1));
	pid = fork();
	if (!pid) {
		printf("attached: %d\n", shm_attached(id));
		strcpy(a, "by the child");
		fflush(stdout);
		_exit(3);
	}
	wait_for(pid);
	printf("%s %d\n", b, shm_attached(id));
	pid = fork();
	if (!pid) {
		SAY(shmdt(b));
		printf("attached: %d\n", shm_attached(id));
		fflush(stdout);
		raise(SIGKILL);
	}
	wait_for(pid);
	printf("after a kill: %d\n", shm_attached(id));
	/* A segment that is removed while attached lives on without a key. */
	c = shmat(other, NULL, 0);
	SAY(shmctl(other, IPC_RMID, NULL));
	SAY(shmget(key, 100, 0600));
	SAY(shmctl(other, IPC_STAT, &ds));
	printf("mode %o, key %d\n", ds.shm_perm.mode, ds.shm_perm.__key);
	strcpy(c, "still there");
	printf("%s\n", c);
	pid = fork();
	if (!pid) {
		printf("%s\n", c);
		fflush(stdout);
		_exit(0);
	}
	wait_for(pid);
	SAY(shmdt(c));
	SAY(shmctl(other, IPC_STAT, &ds));
	/* Owner and mode of a segment. */
	shmctl(id, IPC_STAT, &ds);
	ds.shm_perm.mode = 0400;
	SAY(shmctl(id, IPC_SET, &ds));
	shmctl(id, IPC_STAT, &ds);
	printf("mode %o\n", ds.shm_perm.mode);
	SAY(shmctl(id, 99, &ds));
	SAY(shmctl(-1, IPC_STAT, &ds));
	SAY(shmctl(id, IPC_STAT, (void *)8));
	SAY(shmctl(id, IPC_SET, (void *)8));
	SAY(shmctl(id, IPC_INFO, (void *)8));
	SAY(shmdt(a));
	munmap(b, 10000);
	printf("after munmap: %d\n", shm_attached(id));
	SAY(shmctl(id, IPC_RMID, NULL));
	SAY(shmctl(id, IPC_RMID, NULL));
	/* A new segment in the same slot has another id, and is zero. */
	gone = shmget(IPC_PRIVATE, 4096, 0600);
	a = shmat(gone, NULL, 0);
	printf("new: %d %d\n", gone != id, a[0]);
	SAY(shmctl(gone, IPC_RMID, NULL));
	SAY(shmdt(a));
}

union semun {
	int val;
	struct semid_ds *buf;
	unsigned short *array;
};

static int sem_add(int id, int num, int n, int flags)
{
	struct sembuf op = { (unsigned short)num, (short)n, (short)flags };

	return semop(id, &op, 1);
}

static void *waits(void *arg)
{
	int id = *(int *)arg;

	SAY(sem_add(id, 0, -2, 0));
	return NULL;
}

static void sem(void)
{
	unsigned short values[3] = { 1, 2, 3 };
	struct sembuf both[2] = { { 0, -1, 0 }, { 1, -9, IPC_NOWAIT } };
	struct timespec soon = { 0, 10000000 };
	key_t key = (key_t)(0x44000000 + getpid());
	union semun u;
	struct semid_ds ds;
	pthread_t thread;
	pid_t pid;
	int id = semget(key, 3, IPC_CREAT | 0600), status;

	SAY(semget(key, 4, 0600));
	printf("again: %d\n", semget(key, 0, 0600) == id);
	SAY(semget(key, 3, IPC_CREAT | IPC_EXCL | 0600));
	SAY(semget(IPC_PRIVATE, 0, 0600));
	SAY(semget(IPC_PRIVATE, -1, 0600));
	SAY(semget(IPC_PRIVATE, 100000, 0600));
	u.array = values;
	SAY(semctl(id, 0, SETALL, u));
	SAY(semctl(id, 1, GETVAL));
	SAY(semop(id, both, 2));
	SAY(semctl(id, 0, GETVAL));
	SAY(sem_add(id, 0, -1, 0));
	SAY(sem_add(id, 0, -1, IPC_NOWAIT));
	SAY(sem_add(id, 0, 0, 0));
	SAY(sem_add(id, 1, 0, IPC_NOWAIT));
	SAY(sem_add(id, 3, 1, 0));
	SAY(sem_add(id, 2, 32767, 0));
	SAY(sem_add(-1, 0, 1, 0));
	SAY(semop(id, both, 0));
	SAY(semop(id, both, 501));
	SAY(semop(id, (void *)8, 1));
	both[0].sem_num = 0;
	SAY(semtimedop(id, both, 1, &soon));
	soon.tv_nsec = -1;
	SAY(semtimedop(id, both, 1, &soon));
	printf("last: %d\n", semctl(id, 0, GETPID) == getpid());
	u.val = -1;
	SAY(semctl(id, 0, SETVAL, u));
	u.val = 40000;
	SAY(semctl(id, 0, SETVAL, u));
	SAY(semctl(id, 3, GETVAL));
	SAY(semctl(id, 0, GETNCNT));
	memset(values, 0, sizeof(values));
	u.array = values;
	SAY(semctl(id, 0, GETALL, u));
	printf("%d %d %d\n", values[0], values[1], values[2]);
	u.array = (void *)8;
	SAY(semctl(id, 0, GETALL, u));
	SAY(semctl(id, 0, SETALL, u));
	u.buf = &ds;
	SAY(semctl(id, 0, IPC_STAT, u));
	printf("%lu, mode %o, %d %d\n", (unsigned long)ds.sem_nsems, ds.sem_perm.mode,
	       ds.sem_otime != 0, ds.sem_ctime != 0);
	/* Two processes wait for each other in turn. */
	pid = fork();
	if (!pid) {
		sem_add(id, 0, -3, 0);
		sem_add(id, 1, 5, 0);
		_exit(4);
	}
	while (semctl(id, 0, GETNCNT) != 1)
		usleep(1000);
	sem_add(id, 0, 1, 0);
	sem_add(id, 0, 2, 0);
	sem_add(id, 1, -7, 0);
	wait_for(pid);
	SAY(semctl(id, 0, GETVAL));
	SAY(semctl(id, 1, GETVAL));
	/* A thread waits for another. */
	pthread_create(&thread, NULL, waits, &id);
	while (semctl(id, 0, GETNCNT) != 1)
		usleep(1000);
	sem_add(id, 0, 1, 0);
	SAY(semctl(id, 0, GETNCNT));
	sem_add(id, 0, 1, 0);
	pthread_join(thread, NULL);
	/* A process waits for zero. */
	sem_add(id, 0, 1, 0);
	pid = fork();
	if (!pid)
		_exit(sem_add(id, 0, 0, 0) ? 9 : 5);
	while (semctl(id, 0, GETZCNT) != 1)
		usleep(1000);
	sem_add(id, 0, -1, 0);
	wait_for(pid);
	/* SEM_UNDO takes effect when a process ends, by itself or killed. */
	u.val = 10;
	semctl(id, 0, SETVAL, u);
	for (int way = 0; way < 2; way++) {
		pid = fork();
		if (!pid) {
			sem_add(id, 0, -4, SEM_UNDO);
			sem_add(id, 0, 1, SEM_UNDO);
			sem_add(id, 1, 2, 0);
			if (way)
				raise(SIGKILL);
			_exit(0);
		}
		wait_for(pid);
		printf("undone: %d\n", semctl(id, 0, GETVAL));
	}
	pid = fork();
	if (!pid) {
		sem_add(id, 0, -4, SEM_UNDO);
		sem_add(id, 1, 0, 0); /* until the parent has set the value anew */
		_exit(0);
	}
	while (semctl(id, 1, GETZCNT) != 1)
		usleep(1000);
	u.val = 20;
	semctl(id, 0, SETVAL, u);
	u.val = 0;
	semctl(id, 1, SETVAL, u);
	wait_for(pid);
	printf("not undone: %d\n", semctl(id, 0, GETVAL));
	/* A signal interrupts the wait; removal of the set ends it. */
	signal(SIGALRM, on_alarm);
	siginterrupt(SIGALRM, 0);
	alarm(1);
	SAY(sem_add(id, 1, -1, 0));
	pid = fork();
	if (!pid) {
		int r = sem_add(id, 1, -1, 0);

		_exit(r < 0 && errno == EIDRM ? 6 : 9);
	}
	while (semctl(id, 1, GETNCNT) != 1)
		usleep(1000);
	SAY(semctl(id, 0, IPC_RMID));
	waitpid(pid, &status, 0);
	printf("removed: %x\n", status);
	SAY(semctl(id, 0, IPC_RMID));
	SAY(sem_add(id, 0, 1, 0));
}

struct message {
	long type;
	char text[9000];
};

static void msg(void)
{
	struct message m = { .type = 3, .text = "three" };
	key_t key = (key_t)(0x45000000 + getpid());
	int id = msgget(key, IPC_CREAT | 0600), n = 0;
	struct msqid_ds ds;
	pid_t pid;

	SAY(msgget(key, IPC_CREAT | IPC_EXCL));
	SAY(msgget(key + 1, 0));
	SAY(msgsnd(id, &m, 6, 0));
	m.type = 1;
	strcpy(m.text, "one");
	SAY(msgsnd(id, &m, 4, 0));
	m.type = 2;
	strcpy(m.text, "two");
	SAY(msgsnd(id, &m, 4, 0));
	m.type = 0;
	SAY(msgsnd(id, &m, 4, 0));
	m.type = 1;
	SAY(msgsnd(id, &m, 9000, IPC_NOWAIT));
	SAY(msgsnd(id, (void *)8, 4, 0));
	SAY(msgctl(id, IPC_STAT, &ds));
	printf("%lu messages, %lu bytes of %lu, sender %d, receiver %d\n",
	       (unsigned long)ds.msg_qnum, (unsigned long)ds.__msg_cbytes,
	       (unsigned long)ds.msg_qbytes, ds.msg_lspid == getpid(), ds.msg_lrpid);
	SAY(msgrcv(id, &m, 2, 0, 0));
	SAY(msgrcv(id, &m, sizeof(m.text), -2, 0));
	printf("%ld %s\n", m.type, m.text);
	SAY(msgrcv(id, &m, sizeof(m.text), 3, MSG_EXCEPT));
	printf("%ld %s\n", m.type, m.text);
	SAY(msgrcv(id, &m, sizeof(m.text), 9, IPC_NOWAIT));
	SAY(msgrcv(id, &m, 2, 0, MSG_NOERROR));
	printf("%ld %.2s\n", m.type, m.text);
	/* Send until the queue is full; then a reader makes room. */
	m.type = 1;
	while (msgsnd(id, &m, 1000, IPC_NOWAIT) == 0)
		n++;
	printf("%d %s\n", n, strerrorname_np(errno));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		while (msgrcv(id, &m, sizeof(m.text), 1, 0) == 1000)
			;
		_exit(msgrcv(id, &m, sizeof(m.text), 7, 0) < 0 && errno == EIDRM ? 7 : 9);
	}
	for (int i = 0; i < 50; i++)
		if (msgsnd(id, &m, 1000, 0))
			printf("send: %s\n", strerrorname_np(errno));
	SAY(msgsnd(id, &m, 1, 0));
	while (msgctl(id, IPC_STAT, &ds) == 0 && ds.msg_qnum)
		usleep(1000);
	usleep(50000);
	SAY(msgctl(id, IPC_RMID, NULL));
	wait_for(pid);
	SAY(msgrcv(id, &m, 10, 0, 0));
	SAY(msgctl(id, IPC_STAT, &ds));
}

/* ipc keep: leaves objects behind; ipc ids: prints their numbers. */
int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1) {
		int ids[3] = { shmget(1, 4096, IPC_CREAT | 0600), semget(1, 1, IPC_CREAT | 0600),
			       msgget(1, IPC_CREAT | 0600) };

		if (!strcmp(argv[1], "keep")) {
			puts(ids[0] >= 0 && ids[1] >= 0 && ids[2] >= 0 ? "kept" : "none");
			return 0;
		}
		printf("%d %d %d %d\n", ids[0], ids[1], ids[2], getpid());
		shmctl(ids[0], IPC_RMID, NULL);
		printf("%d\n", shmget(1, 4096, IPC_CREAT | 0600));
		return 0;
	}
	shm();
	sem();
	msg();
	return 0;
}
