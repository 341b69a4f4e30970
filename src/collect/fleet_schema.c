/* SPDX-License-Identifier: MIT */
/*
 * The fleet's tables in PostgreSQL, in the schema `culprit`. docs/fleet.md describes them.
 *
 * Roles: culprit_push may call the functions below and read or change nothing else; culprit_read may
 * read all tables. The functions run with the rights of their owner. They know a machine by the role
 * that is logged in (session_user), so that a machine can add epochs under its own name alone.
 */
#include "collect/fleet_schema.h"

#define OWNED " LANGUAGE plpgsql SECURITY DEFINER SET search_path = culprit, pg_temp "

const char *const fleet_versions[FLEET_SCHEMA_VERSION + 1] = {
	[0] = "CREATE SCHEMA IF NOT EXISTS culprit;"
	      "CREATE TABLE IF NOT EXISTS culprit.version (version int NOT NULL);",
	[1] =
	    "SET LOCAL search_path = culprit;"
	    "CREATE TABLE machine (id serial PRIMARY KEY, name text NOT NULL UNIQUE,"
	    " role text NOT NULL UNIQUE);"
	    "CREATE TABLE epoch (id bigserial PRIMARY KEY, uuid text NOT NULL UNIQUE,"
	    " machine int NOT NULL REFERENCES machine, boot_id text NOT NULL, kernel text NOT NULL,"
	    " kernel_build_id text NOT NULL, command text NOT NULL, begin_ns bigint NOT NULL,"
	    " end_ns bigint NOT NULL, cpus int NOT NULL, idle_ns bigint NOT NULL,"
	    " budget float8 NOT NULL, interrupt_ns float8 NOT NULL, daemon_cpu_ns float8 NOT NULL,"
	    " received timestamptz NOT NULL DEFAULT now());"
	    "CREATE INDEX epoch_end ON epoch (end_ns);"
	    "CREATE TABLE event (id serial PRIMARY KEY, name text NOT NULL, actual text NOT NULL,"
	    " UNIQUE (name, actual));"
	    "CREATE TABLE epoch_event (epoch bigint NOT NULL REFERENCES epoch ON DELETE CASCADE,"
	    " event int NOT NULL REFERENCES event, rate float8 NOT NULL, period bigint NOT NULL,"
	    " running float8 NOT NULL, taken bigint NOT NULL, stored bigint NOT NULL,"
	    " lost bigint NOT NULL, PRIMARY KEY (epoch, event));"
	    "CREATE TABLE image (id serial PRIMARY KEY, identity text NOT NULL UNIQUE,"
	    " kind int NOT NULL, name text NOT NULL, build_id text NOT NULL);"
	    "CREATE TABLE symbol (image int NOT NULL REFERENCES image, start bigint NOT NULL,"
	    " size_bytes bigint NOT NULL, name text NOT NULL, PRIMARY KEY (image, start));"
	    "CREATE TABLE pack (epoch bigint NOT NULL REFERENCES epoch ON DELETE CASCADE,"
	    " image int NOT NULL, event int NOT NULL, entries int NOT NULL,"
	    " samples bigint NOT NULL, counts bytea NOT NULL, PRIMARY KEY (epoch, image, event));"
	    "CREATE TABLE function_count (epoch bigint NOT NULL REFERENCES epoch ON DELETE CASCADE,"
	    " image int NOT NULL, event int NOT NULL, start bigint NOT NULL,"
	    " samples bigint NOT NULL);"
	    "CREATE INDEX function_count_epoch ON function_count (epoch);"

	    "CREATE FUNCTION image_ids(identities text[], kinds int[], names text[], builds text[])"
	    " RETURNS int[]" OWNED "AS $$ BEGIN"
	    " INSERT INTO image (identity, kind, name, build_id)"
	    "  SELECT * FROM unnest(identities, kinds, names, builds) ON CONFLICT DO NOTHING;"
	    " RETURN (SELECT array_agg(image.id ORDER BY i) FROM unnest(identities) WITH ORDINALITY"
	    "  AS x (identity, i) JOIN image USING (identity)); END $$;"

	    "CREATE FUNCTION symbols_missing(images int[], starts bigint[]) RETURNS int[]" OWNED
	    "AS $$ BEGIN RETURN (SELECT array_agg(i ORDER BY i) FROM unnest(images, starts)"
	    " WITH ORDINALITY AS x (image, start, i) WHERE NOT EXISTS (SELECT 1 FROM symbol s"
	    "  WHERE s.image = x.image AND s.start = x.start)); END $$;"

	    "CREATE FUNCTION symbols_add(images int[], starts bigint[], sizes bigint[],"
	    " names text[]) RETURNS void" OWNED "AS $$ BEGIN"
	    " INSERT INTO symbol SELECT * FROM unnest(images, starts, sizes, names)"
	    "  ON CONFLICT DO NOTHING; END $$;"

	    "CREATE FUNCTION event_id(n text, a text) RETURNS int" OWNED "AS $$ BEGIN"
	    " INSERT INTO event (name, actual) VALUES (n, a) ON CONFLICT DO NOTHING;"
	    " RETURN (SELECT id FROM event WHERE name = n AND actual = a); END $$;"

	    "CREATE FUNCTION push_epoch(u text, boot text, kern text, kern_build text, cmd text,"
	    " begin_at bigint, end_at bigint, ncpus int, idle bigint, budg float8, intr float8,"
	    " cpu float8, e_names text[], e_actuals text[], e_rates float8[], e_periods bigint[],"
	    " e_running float8[], e_taken bigint[], e_stored bigint[], e_lost bigint[],"
	    " p_images int[], p_events int[], p_entries int[], p_samples bigint[], p_counts "
	    "bytea[],"
	    " f_images int[], f_events int[], f_starts bigint[], f_samples bigint[])"
	    " RETURNS bool" OWNED "AS $$ DECLARE m int; ep bigint; ids int[];"
	    " BEGIN SELECT id INTO m FROM machine WHERE role = session_user;"
	    " IF m IS NULL THEN RAISE EXCEPTION 'role % is not a machine of this fleet',"
	    "  session_user; END IF;"
	    " INSERT INTO epoch (uuid, machine, boot_id, kernel, kernel_build_id, command, "
	    "begin_ns,"
	    "  end_ns, cpus, idle_ns, budget, interrupt_ns, daemon_cpu_ns) VALUES (u, m, boot, "
	    "kern,"
	    "  kern_build, cmd, begin_at, end_at, ncpus, idle, budg, intr, cpu)"
	    "  ON CONFLICT (uuid) DO NOTHING RETURNING id INTO ep;"
	    " IF ep IS NULL THEN"
	    "  IF NOT EXISTS (SELECT 1 FROM epoch WHERE uuid = u AND machine = m) THEN"
	    "   RAISE EXCEPTION 'epoch % belongs to another machine', u; END IF;"
	    "  RETURN false; END IF;"
	    " SELECT array_agg(event_id(n, a) ORDER BY i) INTO ids"
	    "  FROM unnest(e_names, e_actuals) WITH ORDINALITY AS x (n, a, i);"
	    " INSERT INTO epoch_event SELECT ep, ids[i], r, p, g, t, s, l FROM unnest(e_rates,"
	    "  e_periods, e_running, e_taken, e_stored, e_lost) WITH ORDINALITY"
	    "  AS x (r, p, g, t, s, l, i);"
	    " INSERT INTO pack SELECT ep, i, ids[e], n, s, c FROM unnest(p_images, p_events,"
	    "  p_entries, p_samples, p_counts) AS x (i, e, n, s, c);"
	    " INSERT INTO function_count SELECT ep, i, ids[e], t, s FROM unnest(f_images, f_events,"
	    "  f_starts, f_samples) AS x (i, e, t, s);"
	    " RETURN true; END $$;"

	    "DO $$ BEGIN"
	    " IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'culprit_push') THEN"
	    "  CREATE ROLE culprit_push; END IF;"
	    " IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'culprit_read') THEN"
	    "  CREATE ROLE culprit_read; END IF; END $$;"
	    "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA culprit FROM PUBLIC;"
	    "GRANT USAGE ON SCHEMA culprit TO culprit_push, culprit_read;"
	    "GRANT EXECUTE ON FUNCTION image_ids, symbols_missing, symbols_add, push_epoch"
	    " TO culprit_push;"
	    "GRANT SELECT ON ALL TABLES IN SCHEMA culprit TO culprit_read;"
	    "GRANT SELECT ON version TO culprit_push;",
};
