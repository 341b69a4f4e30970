/* SPDX-License-Identifier: MIT */
/*
 * The encoder and the decoder of records: both walk the table of a kind of record (inst_fields.def,
 * say) row by row. The file of each kind includes this once, after it has defined
 *
 *      WALK_FIELDS     the table, as a string for #include
 *      WALK_RECORD     the record's struct
 *      WALK_COLUMN     number of the table's first column
 *      V(id)           the value of a row: one of w->v[]
 *      struct walk     with v[], `c` (the codec) and, if the table has NOTE rows, `brief`: a
 *                      constant wherever encode() is inlined, so that brief records need no encoder
 *                      of their own, but use this one without those rows
 *
 * and everything that the table's steps and predictions use.
 */
#ifdef WALK_FIELDS

#define COLUMN_OF(id) (&w->c->column[WALK_COLUMN + NUMBER(id)])

/* By place in record r: LOAD_ its value; HAS_ whether it is there; ABSENT_ its value in records
 * that lack it. */
#define LOAD_MEMBER(m)	       r->m
#define LOAD_SINCE(m)	       (r->fetch + r->m)
#define LOAD_STAMP(m, bit)     (V(REACH) & (bit) ? NEVER : r->fetch + r->m)
#define LOAD_PAIR(high, low)   ((uint64_t)r->high << 8 * sizeof(r->low) | r->low)
#define HAS_MEMBER(m)	       true
#define HAS_SINCE(m)	       true
#define HAS_STAMP(m, bit)      (!(V(REACH) & (bit)))
#define HAS_PAIR(high, low)    true
#define ABSENT_MEMBER(m)       0
#define ABSENT_STAMP(m, bit)   NEVER
#define ABSENT_PAIR(high, low) 0
/* Stores x at a place. A damaged file can have numbers that do not fit: x then becomes what the
 * record holds. */
#define STORE_MEMBER(m)	    x = r->m = (__typeof__(r->m))x
#define STORE_SINCE(m)	    r->m = (__typeof__(r->m))(x - r->fetch)
#define STORE_STAMP(m, bit) r->m = x == NEVER ? STAMP_NONE : (uint32_t)(x - r->fetch)
#define STORE_PAIR(high, low)                                                                      \
	r->low = (__typeof__(r->low))x, r->high = (__typeof__(r->high))(x >> 8 * sizeof(r->low))

#define PUT_DIFF(k, value, prediction) column_put_diff(k, value, prediction)
#define PUT_BITS(k, value, prediction) column_put_bits(k, value, prediction)
#define GET_DIFF(k, prediction)	       ((prediction) + unzigzag(column_get(w->c, k)))
#define GET_BITS(k, prediction)	       ((prediction) ^ column_get(w->c, k))

/* Writes the residuals of a record and returns its mask. */
WALK_INLINE uint32_t encode(struct walk *w, const WALK_RECORD *r)
{
	uint32_t mask = 0;
#define STEP(statement) statement;
#define FIELD(id, coding, place, prediction)                                                       \
	V(id) = LOAD_##place;                                                                      \
	if (HAS_##place && PUT_##coding(COLUMN_OF(id), V(id), (uint64_t)(prediction)))             \
		mask |= 1u << NUMBER(id);
#define NOTE(id, coding, place, prediction)                                                        \
	if (w->brief) {                                                                            \
		V(id) = ABSENT_##place;                                                            \
	} else {                                                                                   \
		FIELD(id, coding, place, prediction)                                               \
	}
#include WALK_FIELDS
	return mask;
}

/* Reads a record back. The codec is `bad` afterwards if a column ended early. */
WALK_INLINE void decode(struct walk *w, WALK_RECORD *r, uint32_t mask)
{
#define STEP(statement) statement;
#define FIELD(id, coding, place, prediction)                                                       \
	{                                                                                          \
		uint64_t x = NEVER;                                                                \
		if (HAS_##place) {                                                                 \
			x = (uint64_t)(prediction);                                                \
			if (mask >> NUMBER(id) & 1)                                                \
				x = GET_##coding(COLUMN_OF(id), x);                                \
		}                                                                                  \
		STORE_##place;                                                                     \
		V(id) = x;                                                                         \
	}
#define NOTE(id, coding, place, prediction) FIELD(id, coding, place, prediction)
#include WALK_FIELDS
}

#endif
