/* SPDX-License-Identifier: MIT */
/*
 * Transactions on tables in memory, as a database server runs them: B+ trees from keys to rows,
 * rows that are read and changed, a log of every change, and the state of some hundred sessions.
 *
 *   payment   looks up two accounts, moves an amount, and writes a log record for each row
 *   order     looks up several items, takes them from stock, and inserts an order into a second tree
 *   status    looks up an account and reads its latest orders in the leaves of that tree
 *
 * A descent is a chain of dependent misses, the look-ups of one transaction are independent of each
 * other, and between them lies ordinary work; so most misses are alone or in small clusters. Half
 * of the accesses go to a twentieth of the keys. Nodes and rows lie in memory in random order, as in
 * a database that has been in use for long. The second tree takes as many orders as there are rows;
 * then orders are only priced. Nothing is written to files.
 *
 *      oltp ROWS TRANSACTIONS
 */
#include <stdbool.h>

#include "workload.h"

enum { KEYS = 60, ROW_WORDS = 20, SESSIONS = 128, SESSION_WORDS = 128, LOG_WORDS = 1 << 16 };

struct row {
	uint64_t word[ROW_WORDS]; /* key, balance or stock, then what a row has besides */
};

struct node {
	uint32_t count;
	bool leaf;
	struct node *next; /* right neighbour of a leaf */
	uint64_t key[KEYS];
	void *at[KEYS + 1]; /* rows of a leaf; children: at[i] has the keys below key[i] */
};

struct tree {
	struct node *root, *pool;
	uint32_t *place; /* order in which nodes of the pool are taken */
	uint64_t used, nodes;
};

struct database {
	struct tree accounts, orders;
	struct row *account_rows, *order_rows;
	uint64_t rows, norders, orders_max;
	uint64_t (*session)[SESSION_WORDS];
	uint64_t *log, log_end;
	uint64_t state; /* of the random numbers */
};

static struct node *node_new(struct tree *t, bool leaf)
{
	struct node *n;

	if (t->used == t->nodes) {
		fprintf(stderr, "oltp: the tree is full\n");
		exit(1);
	}
	n = &t->pool[t->place[t->used++]];
	n->count = 0;
	n->leaf = leaf;
	n->next = NULL;
	return n;
}

/* Fills `order` with 0..count-1, shuffled. */
static void shuffle(uint32_t *order, uint64_t count, uint64_t *state)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t j = workload_random(state) % (i + 1);

		order[i] = order[j];
		order[j] = (uint32_t)i;
	}
}

static void tree_init(struct tree *t, uint64_t keys, uint64_t *state)
{
	/* Leaves that were split are at least half full. */
	t->nodes = keys / (KEYS / 2 - 1) * 2 + 16;
	t->used = 0;
	t->pool = workload_array(t->nodes, sizeof(*t->pool));
	t->place = workload_array(t->nodes, sizeof(*t->place));
	shuffle(t->place, t->nodes, state);
	t->root = node_new(t, true);
}

/* Returns the number of keys in `n` that are below `key`, or not above it if `equal`. */
static uint32_t position(const struct node *n, uint64_t key, bool equal)
{
	uint32_t low = 0, high = n->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (n->key[middle] < key || (equal && n->key[middle] == key))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct node *leaf_of(const struct tree *t, uint64_t key)
{
	struct node *n = t->root;

	while (!n->leaf)
		n = n->at[position(n, key, true)];
	return n;
}

static struct row *find(const struct tree *t, uint64_t key)
{
	struct node *n = leaf_of(t, key);
	uint32_t i = position(n, key, false);

	return i < n->count && n->key[i] == key ? n->at[i] : NULL;
}

/* Puts `key` with `what` at place `i` of a node; a child goes to the right of its key. */
static void put(struct node *n, uint32_t i, uint64_t key, void *what)
{
	uint32_t first = n->leaf ? i : i + 1, end = n->leaf ? n->count : n->count + 1;

	memmove(&n->key[i + 1], &n->key[i], (n->count - i) * sizeof(n->key[0]));
	memmove(&n->at[first + 1], &n->at[first], (end - first) * sizeof(n->at[0]));
	n->key[i] = key;
	n->at[first] = what;
	n->count++;
}

/* Splits child `i` of `parent`, which has room. */
static void split(struct tree *t, struct node *parent, uint32_t i)
{
	struct node *left = parent->at[i], *right = node_new(t, left->leaf);
	uint32_t half = left->count / 2, from = left->leaf ? half : half + 1;
	uint64_t middle = left->key[half];

	right->count = left->count - from;
	memcpy(right->key, &left->key[from], right->count * sizeof(right->key[0]));
	memcpy(right->at, &left->at[from], (right->count + !left->leaf) * sizeof(right->at[0]));
	left->count = half;
	if (left->leaf) {
		right->next = left->next;
		left->next = right;
	}
	put(parent, i, middle, right);
}

static void insert(struct tree *t, uint64_t key, struct row *row)
{
	struct node *n = t->root;

	if (n->count == KEYS) {
		t->root = node_new(t, false);
		t->root->at[0] = n;
		split(t, t->root, 0);
		n = t->root;
	}
	while (!n->leaf) {
		uint32_t i = position(n, key, true);

		if (((struct node *)n->at[i])->count == KEYS) {
			split(t, n, i);
			i += n->key[i] <= key;
		}
		n = n->at[i];
	}
	put(n, position(n, key, false), key, row);
}

static uint64_t pick_key(struct database *d)
{
	uint64_t draw = workload_random(&d->state), key = (draw >> 8) % d->rows;

	return draw & 1 ? key - key % 20 : key;
}

static void log_change(struct database *d, uint64_t key, uint64_t before, uint64_t after)
{
	uint64_t record[4] = { d->log_end, key, before, after }, sum = 0;

	for (int i = 0; i < 4; i++)
		sum = workload_mix(sum, record[i]);
	for (int i = 0; i < 4; i++)
		d->log[d->log_end++ % LOG_WORDS] = record[i];
	d->log[d->log_end++ % LOG_WORDS] = sum;
}

static uint64_t payment(struct database *d)
{
	struct row *from = find(&d->accounts, pick_key(d)), *to = find(&d->accounts, pick_key(d));
	uint64_t amount = workload_random(&d->state) % 100;

	log_change(d, from->word[0], from->word[1], from->word[1] - amount);
	from->word[1] -= amount;
	log_change(d, to->word[0], to->word[1], to->word[1] + amount);
	to->word[1] += amount;
	return from->word[1] ^ to->word[ROW_WORDS - 1];
}

/* Orders of an account are next to each other in the tree, the latest first. */
static uint64_t order_key(uint64_t account, uint64_t number)
{
	return account << 32 | (UINT32_MAX - number);
}

static uint64_t order(struct database *d)
{
	uint64_t account = pick_key(d), total = 0, items = 3 + workload_random(&d->state) % 5;
	struct row *row;

	for (uint64_t i = 0; i < items; i++) {
		struct row *item = find(&d->accounts, pick_key(d));

		total += item->word[1] % 1000 + item->word[2 + i];
		item->word[2]++;
	}
	if (d->norders == d->orders_max)
		return total;
	row = &d->order_rows[d->norders];
	row->word[0] = account;
	row->word[1] = total;
	insert(&d->orders, order_key(account, d->norders++), row);
	log_change(d, account, 0, total);
	return total;
}

static uint64_t status(struct database *d)
{
	uint64_t account = pick_key(d), sum = find(&d->accounts, account)->word[1];
	struct node *n = leaf_of(&d->orders, order_key(account, UINT32_MAX));
	uint32_t i = position(n, order_key(account, UINT32_MAX), false);

	for (int seen = 0; n && seen < 8;) {
		if (i == n->count) {
			n = n->next;
			i = 0;
		} else {
			sum = workload_mix(sum, ((struct row *)n->at[i++])->word[1]);
			seen++;
		}
	}
	return sum;
}

/* What a server does for a session around each transaction: it reads and changes the session's
 * state. */
static uint64_t session(struct database *d, uint64_t result)
{
	uint64_t *words = d->session[workload_random(&d->state) % SESSIONS];

	for (int i = 0; i < SESSION_WORDS; i += 8) {
		words[i] = workload_mix(words[i], result + i);
		result ^= words[i + 1]++;
	}
	return result;
}

int main(int argc, char **argv)
{
	struct database d = { .state = 2007 };
	uint64_t transactions, sum = 0;
	uint32_t *place;

	d.rows = workload_arg(argc, argv, 1, 3000, 20, 1 << 24);
	transactions = workload_arg(argc, argv, 2, 8000, 1, UINT64_MAX);
	d.orders_max = d.rows;
	tree_init(&d.accounts, d.rows, &d.state);
	tree_init(&d.orders, d.orders_max, &d.state);
	d.account_rows = workload_array(d.rows, sizeof(*d.account_rows));
	d.order_rows = workload_array(d.orders_max, sizeof(*d.order_rows));
	d.session = workload_array(SESSIONS, sizeof(*d.session));
	d.log = workload_array(LOG_WORDS, sizeof(*d.log));
	place = workload_array(d.rows, sizeof(*place));
	shuffle(place, d.rows, &d.state);
	for (uint64_t i = 0; i < d.rows; i++) {
		struct row *row = &d.account_rows[place[i]];
		uint64_t key = i * 48271 % d.rows;

		/* 48271 is a prime: it visits every key once unless it divides the number of
		 * rows. */
		key = d.rows % 48271 ? key : i;
		row->word[0] = key;
		row->word[1] = 1000 + key % 977;
		insert(&d.accounts, key, row);
	}
	CULPRIT_BEGIN();
	for (uint64_t i = 0; i < transactions; i++) {
		uint64_t kind = workload_random(&d.state) % 10;
		uint64_t result = kind < 5 ? payment(&d) : kind < 8 ? order(&d) : status(&d);

		sum = workload_mix(sum, session(&d, result));
	}
	CULPRIT_END();
	sum = workload_mix(sum, d.accounts.used << 32 | d.orders.used);
	return workload_print("oltp", workload_mix(sum, d.norders));
}
