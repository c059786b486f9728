-- What a team chose to make searchable on the server, in clear text: one row for each passage of a statement, the
-- first of which (start = 0) has the words of all of a long one. The client takes texts apart, so that words are the
-- same as in the index of SQLite; candidates come from here, and the same code ranks them.
--
-- No unique index on the parent: a partition may be a foreign table, on another server.

-- In the order in which somebody who pushes takes them, so that neither waits for the other for ever.
LOCK TABLE holdfast.pack, holdfast.author, holdfast.member, holdfast.project IN SHARE ROW EXCLUSIVE MODE;

DROP TABLE holdfast.statement;  -- of 0002: nothing ever filled it

-- Off until an owner asks for it. The channel of notifications is a secret of the members: everybody may listen.
ALTER TABLE holdfast.project
    ADD COLUMN is_indexed boolean NOT NULL DEFAULT false,
    ADD COLUMN channel text NOT NULL DEFAULT 'holdfast_' || replace(gen_random_uuid()::text, '-', '');
ALTER TABLE holdfast.project ALTER COLUMN is_indexed SET STATISTICS 0, ALTER COLUMN channel SET STATISTICS 0;

CREATE TABLE holdfast.statement (
    project text NOT NULL,
    author text NOT NULL CHECK (author ~ '^[0-9a-f]{16}$'),
    id text COLLATE "C" NOT NULL CHECK (length(id) BETWEEN 1 AND 1000),
    start integer NOT NULL CHECK (start >= 0),
    stop integer NOT NULL CHECK (stop >= start),
    -- Numbers made of the names: a sequence would tell how much others add.
    n bigint NOT NULL GENERATED ALWAYS AS (hashtextextended(author || '/' || id || '/' || start, 0)) STORED,
    chunk bigint NOT NULL GENERATED ALWAYS AS (hashtextextended(author || '/' || id, 0)) STORED,
    hash bytea NOT NULL,
    kind text NOT NULL,
    name text NOT NULL DEFAULT '',
    session text NOT NULL DEFAULT '',
    path text NOT NULL DEFAULT '',
    line integer NOT NULL DEFAULT 0,
    at double precision,
    title text NOT NULL DEFAULT '',
    data text NOT NULL DEFAULT '',
    series bigint NOT NULL DEFAULT 0,
    place double precision NOT NULL DEFAULT 0,
    body text NOT NULL CHECK (octet_length(body) <= 1000000),
    length integer NOT NULL,
    words tsvector NOT NULL,
    whole_length integer,
    whole tsvector,
    meaning halfvec(384)
) PARTITION BY HASH (project);

CREATE FUNCTION holdfast.indexed() RETURNS text[] LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS
$$ SELECT coalesce(array_agg(p.id), '{}') FROM holdfast.project p JOIN holdfast.member m ON m.project = p.id
   WHERE m.login = session_user AND m.role IN ('owner', 'member') AND p.is_indexed $$;

-- The indexes of one partition, on the server that has it.
CREATE FUNCTION holdfast.index_partition(partition regclass) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, holdfast, public, pg_temp AS
$$ BEGIN
    EXECUTE format('CREATE UNIQUE INDEX ON %s (project, author, id, start)', partition);
    EXECUTE format('CREATE INDEX ON %s (project, n)', partition);
    EXECUTE format('CREATE INDEX ON %s (project, chunk)', partition);
    EXECUTE format('CREATE INDEX ON %s (project, id)', partition);
    EXECUTE format('CREATE INDEX ON %s (project, at DESC NULLS LAST, id) WHERE start = 0', partition);
    EXECUTE format('CREATE INDEX ON %s (project, series, place) WHERE start = 0 AND series <> 0', partition);
    EXECUTE format('CREATE INDEX ON %s USING gin (words)', partition);
    EXECUTE format('CREATE INDEX ON %s USING gin (whole)', partition);
    EXECUTE format('CREATE INDEX ON %s USING hnsw (meaning halfvec_ip_ops) WITH (m = 16, ef_construction = 64)',
        partition);
END $$;

DO $$
DECLARE
    columns text;
BEGIN
    -- Estimates of EXPLAIN are made of statistics over all rows, those of other projects too.
    SELECT string_agg(format('ALTER COLUMN %I SET STATISTICS 0', attname), ', ') INTO columns
        FROM pg_attribute WHERE attrelid = 'holdfast.statement'::regclass AND attnum > 0 AND NOT attisdropped;
    FOR number IN 0..7 LOOP
        EXECUTE format(
            'CREATE TABLE holdfast.statement_%s PARTITION OF holdfast.statement '
            'FOR VALUES WITH (MODULUS 8, REMAINDER %s)', number, number);
        EXECUTE format('ALTER TABLE holdfast.statement_%s %s', number, columns);
        PERFORM holdfast.index_partition(format('holdfast.statement_%s', number)::regclass);
    END LOOP;
END $$;

-- How much each author has: a question must not count it all.
CREATE TABLE holdfast.tally (
    project text NOT NULL REFERENCES holdfast.project ON DELETE CASCADE,
    author text NOT NULL,
    passages bigint NOT NULL DEFAULT 0,
    wholes bigint NOT NULL DEFAULT 0,
    signs bigint NOT NULL DEFAULT 0,
    later_signs bigint NOT NULL DEFAULT 0,
    later bigint NOT NULL DEFAULT 0,
    words bigint NOT NULL DEFAULT 0,
    whole_words bigint NOT NULL DEFAULT 0,
    changes bigint NOT NULL DEFAULT 0,
    mark text NOT NULL DEFAULT '',
    PRIMARY KEY (project, author)
);

-- Counts what an author has: from the rows, not from what a program says.
CREATE FUNCTION holdfast.recount(of_project text, of_author text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS
$$ BEGIN
    IF NOT (of_project = ANY (holdfast.owned())
            OR of_project = ANY (holdfast.writable()) AND holdfast.is_mine(of_project, of_author)) THEN
        RETURN;
    END IF;
    INSERT INTO holdfast.tally (project, author) VALUES (of_project, of_author) ON CONFLICT DO NOTHING;
    PERFORM FROM holdfast.tally WHERE project = of_project AND author = of_author FOR UPDATE;
    UPDATE holdfast.tally SET passages = c.passages, wholes = c.wholes, signs = c.signs, later_signs = c.later_signs,
            later = c.later, words = c.words, whole_words = c.whole_words, changes = changes + 1
        FROM (SELECT count(*) AS passages, count(whole_length) AS wholes, coalesce(sum(stop - start), 0) AS signs,
                     coalesce(sum(stop - start) FILTER (WHERE start > 0), 0) AS later_signs,
                     count(*) FILTER (WHERE start > 0) AS later, coalesce(sum(length), 0) AS words,
                     coalesce(sum(whole_length), 0) AS whole_words
              FROM holdfast.statement WHERE project = of_project AND author = of_author) AS c
        WHERE project = of_project AND author = of_author;
END $$;

CREATE FUNCTION holdfast.set_mark(of_project text, of_author text, new_mark text) RETURNS void LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$ BEGIN
    IF of_project = ANY (holdfast.writable()) AND holdfast.is_mine(of_project, of_author) THEN
        INSERT INTO holdfast.tally (project, author, mark) VALUES (of_project, of_author, new_mark)
            ON CONFLICT (project, author) DO UPDATE SET mark = new_mark;
    END IF;
END $$;

-- Off takes back what everybody published in clear text.
CREATE FUNCTION holdfast.set_indexed(of_project text, on_or_off boolean) RETURNS void LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$ BEGIN
    IF NOT of_project = ANY (holdfast.owned()) THEN
        RAISE EXCEPTION 'only an owner of this project decides that' USING ERRCODE = '42501';
    END IF;
    UPDATE holdfast.project SET is_indexed = on_or_off WHERE id = of_project;
    IF NOT on_or_off THEN
        DELETE FROM holdfast.statement WHERE project = of_project;
        DELETE FROM holdfast.tally WHERE project = of_project;
    END IF;
END $$;

-- --- candidates by words ------------------------------------------------------------------------------------
-- A policy keeps an index from being used by an operator that is not leakproof, as @@ is not. So these functions look
-- past the policies and ask themselves who is asking; they answer nothing of a project without access, nor whether
-- there is one. PL/pgSQL: nothing of them is inlined into the query of the one who asks.

CREATE FUNCTION holdfast.any_of(stems text[]) RETURNS tsquery LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp AS
$$ SELECT string_agg('''' || replace(replace(stem, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery
   FROM unnest(stems) AS stem $$;

-- The partition of a project: without the others, and with no index of projects, a plan has the index of words left.
-- `project || ''` is there for that, too.
CREATE FUNCTION holdfast.partition_of(of_project text) RETURNS regclass LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp AS
$$ SELECT tableoid::regclass FROM holdfast.statement WHERE project = of_project LIMIT 1 $$;

CREATE FUNCTION holdfast.frequencies(of_project text, stems text[], of_wholes boolean, most bigint)
    RETURNS TABLE (stem text, texts bigint) LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    place regclass;
BEGIN
    IF NOT of_project = ANY (holdfast.readable()) THEN
        RETURN;
    END IF;
    place := holdfast.partition_of(of_project);
    IF place IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT asked.stem, (SELECT count(*) FROM (SELECT FROM %s AS s
             WHERE s.project || '''' = $1 AND %s @@ asked.query LIMIT $3) AS found)
         FROM (SELECT stem, holdfast.any_of(ARRAY[stem]) AS query FROM unnest($2) AS stem) AS asked',
        place, CASE WHEN of_wholes THEN 's.whole' ELSE 's.words' END)
        USING of_project, stems, most;
END $$;

-- The stems that begin so, for spelling.
CREATE FUNCTION holdfast.beginning(of_project text, beginning text, most bigint)
    RETURNS TABLE (stem text, texts bigint) LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    place regclass;
BEGIN
    IF beginning = '' OR NOT of_project = ANY (holdfast.readable()) THEN
        RETURN;
    END IF;
    place := holdfast.partition_of(of_project);
    IF place IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT word.lexeme, count(*) FROM (SELECT s.words FROM %s AS s
             WHERE s.project || '''' = $1 AND s.words @@ $2 LIMIT $3) AS found, unnest(found.words) AS word
         WHERE starts_with(word.lexeme, $4) GROUP BY word.lexeme', place)
        USING of_project, (holdfast.any_of(ARRAY[beginning])::text || ':*')::tsquery, most, beginning;
END $$;

-- BM25 as FTS5 has it, of those that a rough rank puts first: exact for all where there are few.
CREATE FUNCTION holdfast.by_words(of_project text, stems text[], weights double precision[], mean double precision,
        of_wholes boolean, of_kinds text[], of_names text[], since double precision, before double precision,
        most integer)
    RETURNS TABLE (n bigint, score double precision) LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    rough text;
    said text := CASE WHEN of_wholes THEN 's.whole' ELSE 's.words' END;
    size text := CASE WHEN of_wholes THEN 's.whole_length' ELSE 's.length' END;
    numbered text := CASE WHEN of_wholes THEN 's.chunk' ELSE 's.n' END;
    place regclass;
BEGIN
    IF cardinality(stems) = 0 OR NOT of_project = ANY (holdfast.readable()) THEN
        RETURN;
    END IF;
    place := holdfast.partition_of(of_project);
    IF place IS NULL THEN
        RETURN;
    END IF;
    SELECT string_agg(format('%s * ts_rank(''{0.5,0.5,0.5,1}'', %s, %L::tsquery)', weight, said,
                             holdfast.any_of(ARRAY[stem])::text), ' + ')
        INTO rough FROM unnest(stems, weights) AS word (stem, weight);
    RETURN QUERY EXECUTE format(
        'WITH found AS MATERIALIZED (
            SELECT %1$s AS number, %2$s AS words, %3$s AS length FROM %5$s AS s
            WHERE s.project || '''' = $1 AND %2$s @@ $2 AND ($3 IS NULL OR s.kind = ANY ($3))
                AND ($4 IS NULL OR s.name = ANY ($4)) AND ($5 IS NULL OR s.at >= $5) AND ($6 IS NULL OR s.at < $6)
            ORDER BY %4$s DESC, 1 LIMIT $7 * 2)
        SELECT found.number, sum(asked.weight * held.times * 2.2
                                 / (held.times + 1.2 * (0.25 + 0.75 * found.length / $8)))
        FROM found, unnest(found.words) AS word
            JOIN unnest($9, $10) AS asked (stem, weight) ON asked.stem = word.lexeme,
            LATERAL (SELECT sum(CASE mark WHEN ''A'' THEN 2.0 ELSE 1.0 END)::float8 FROM unnest(word.weights) AS mark)
                AS held (times)
        GROUP BY found.number ORDER BY 2 DESC, 1 LIMIT $7', numbered, said, size, rough, place)
        USING of_project, holdfast.any_of(stems), of_kinds, of_names, since, before, most, greatest(mean, 1),
            stems, weights;
END $$;

-- --- who may what -------------------------------------------------------------------------------------------

ALTER TABLE holdfast.statement ENABLE ROW LEVEL SECURITY;
ALTER TABLE holdfast.tally ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_members ON holdfast.tally FOR SELECT USING (project = ANY ((SELECT holdfast.readable())::text[]));
CREATE POLICY read ON holdfast.statement FOR SELECT USING (project = ANY ((SELECT holdfast.readable())::text[]));
CREATE POLICY add ON holdfast.statement FOR INSERT
    WITH CHECK (project = ANY ((SELECT holdfast.indexed())::text[]) AND holdfast.is_mine(project, author));
CREATE POLICY drop_mine ON holdfast.statement FOR DELETE
    USING (project = ANY ((SELECT holdfast.writable())::text[]) AND holdfast.is_mine(project, author));
CREATE POLICY drop_any ON holdfast.statement FOR DELETE USING (project = ANY ((SELECT holdfast.owned())::text[]));

-- --- others' machines hear at once that something has changed -----------------------------------------------

CREATE FUNCTION holdfast.tell() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS
$$ BEGIN
    PERFORM pg_notify(channel, '') FROM holdfast.project WHERE id = coalesce(NEW.project, OLD.project);
    RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT OR DELETE ON holdfast.pack FOR EACH ROW EXECUTE FUNCTION holdfast.tell();

-- Who was let out knew the channel: the others get another one.
CREATE FUNCTION holdfast.new_channel() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS
$$ BEGIN
    PERFORM pg_notify(channel, '') FROM holdfast.project WHERE id = OLD.project;
    UPDATE holdfast.project SET channel = 'holdfast_' || replace(gen_random_uuid()::text, '-', '')
        WHERE id = OLD.project;
    RETURN NULL;
END $$;
CREATE TRIGGER new_channel AFTER DELETE ON holdfast.member FOR EACH ROW EXECUTE FUNCTION holdfast.new_channel();

REVOKE ALL ON FUNCTION holdfast.indexed(), holdfast.index_partition(regclass), holdfast.recount(text, text),
    holdfast.set_mark(text, text, text), holdfast.set_indexed(text, boolean), holdfast.any_of(text[]), holdfast.partition_of(text),
    holdfast.frequencies(text, text[], boolean, bigint), holdfast.beginning(text, text, bigint),
    holdfast.by_words(text, text[], double precision[], double precision, boolean, text[], text[], double precision,
        double precision, integer), holdfast.tell(), holdfast.new_channel() FROM PUBLIC;
GRANT SELECT, INSERT, DELETE ON holdfast.statement TO holdfast_member;
GRANT SELECT ON holdfast.tally TO holdfast_member;
GRANT EXECUTE ON FUNCTION holdfast.indexed(), holdfast.recount(text, text), holdfast.set_mark(text, text, text),
    holdfast.set_indexed(text, boolean), holdfast.frequencies(text, text[], boolean, bigint),
    holdfast.beginning(text, text, bigint),
    holdfast.by_words(text, text[], double precision[], double precision, boolean, text[], text[], double precision,
        double precision, integer) TO holdfast_member;
