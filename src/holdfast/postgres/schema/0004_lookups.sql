-- Lookups by functions that ask themselves who is asking, as those of words do. There are no statistics of these columns,
-- since estimates would tell of other projects' rows; a plan below a policy takes a project for a handful of rows, and read
-- all of it for each row that was to be looked up. A condition of the functions is an equality of both columns of an index.
--
-- Nobody orders by meaning past them: an index of neighbours passes those of other projects on its way, and how many it
-- left out is in EXPLAIN ANALYZE, and in answers that are too short.

CREATE FUNCTION holdfast.by_number(of_project text, numbers bigint[]) RETURNS SETOF holdfast.statement LANGUAGE plpgsql
    STABLE SECURITY DEFINER ROWS 300 SET search_path = pg_catalog, pg_temp AS
$$ BEGIN
    IF of_project = ANY (holdfast.readable()) THEN
        RETURN QUERY SELECT s.* FROM unnest(numbers) AS asked (number) CROSS JOIN LATERAL (
            SELECT * FROM holdfast.statement AS t WHERE t.project = of_project AND t.n = asked.number OFFSET 0) AS s;
    END IF;
END $$;

CREATE FUNCTION holdfast.by_chunk(of_project text, numbers bigint[]) RETURNS SETOF holdfast.statement LANGUAGE plpgsql
    STABLE SECURITY DEFINER ROWS 300 SET search_path = pg_catalog, pg_temp AS
$$ BEGIN
    IF of_project = ANY (holdfast.readable()) THEN
        RETURN QUERY SELECT s.* FROM unnest(numbers) AS asked (number) CROSS JOIN LATERAL (
            SELECT * FROM holdfast.statement AS t WHERE t.project = of_project AND t.chunk = asked.number OFFSET 0) AS s;
    END IF;
END $$;

CREATE FUNCTION holdfast.by_id(of_project text, ids text[]) RETURNS SETOF holdfast.statement LANGUAGE plpgsql
    STABLE SECURITY DEFINER ROWS 300 SET search_path = pg_catalog, pg_temp AS
$$ BEGIN
    IF of_project = ANY (holdfast.readable()) THEN
        RETURN QUERY SELECT s.* FROM unnest(ids) AS asked (id) CROSS JOIN LATERAL (
            SELECT * FROM holdfast.statement AS t WHERE t.project = of_project AND t.id = asked.id COLLATE "C" OFFSET 0) AS s
            WHERE s.start = 0;
    END IF;
END $$;

-- The passages from `start` to `stop` of each chunk.
CREATE FUNCTION holdfast.parts(of_project text, chunks bigint[], starts integer[], stops integer[])
    RETURNS TABLE (part_chunk bigint, part_start integer, id text, kind text, title text, body text, path text, line integer,
        session text, name text, at double precision, data text, is_whole boolean) LANGUAGE plpgsql
    STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$ BEGIN
    IF of_project = ANY (holdfast.readable()) THEN
        RETURN QUERY SELECT p.chunk, p.start, min(s.id), min(s.kind), min(s.title), string_agg(s.body, '' ORDER BY s.start),
                min(s.path), min(s.line), min(s.session), min(s.name), min(s.at), min(s.data),
                bool_and(s.start = 0 AND s.whole_length IS NULL)
            FROM unnest(chunks, starts, stops) AS p (chunk, start, stop) CROSS JOIN LATERAL (
                SELECT * FROM holdfast.statement AS t WHERE t.project = of_project AND t.chunk = p.chunk
                OFFSET 0) AS s
            WHERE s.start >= p.start AND s.start < greatest(p.stop, p.start + 1) GROUP BY p.chunk, p.start;
    END IF;
END $$;

CREATE FUNCTION holdfast.followers(of_project text, lenders bigint[]) RETURNS TABLE (lender bigint, follower bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$ BEGIN
    RETURN QUERY SELECT s.chunk, f.chunk FROM holdfast.by_chunk(of_project, lenders) AS s CROSS JOIN LATERAL (
        SELECT t.chunk FROM holdfast.statement AS t WHERE t.project = of_project AND t.start = 0 AND t.series <> 0
            AND t.series = s.series AND t.place = (
                SELECT u.place FROM holdfast.statement AS u WHERE u.project = of_project AND u.start = 0 AND u.series <> 0
                AND u.series = s.series AND u.place > s.place ORDER BY u.place LIMIT 1) OFFSET 0) AS f
        WHERE s.start = 0 AND s.series <> 0;
END $$;

-- The chunks whose ids begin so.
CREATE FUNCTION holdfast.named_from(of_project text, first text, past text, of_kinds text[], of_names text[],
        since double precision, before double precision, most integer)
    RETURNS SETOF bigint LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$ BEGIN
    IF of_project = ANY (holdfast.readable()) THEN
        RETURN QUERY SELECT s.chunk FROM (
            SELECT * FROM holdfast.statement AS t WHERE t.project = of_project AND t.id >= first COLLATE "C"
            AND t.id < past COLLATE "C" OFFSET 0) AS s
        WHERE s.start = 0 AND (of_kinds IS NULL OR s.kind = ANY (of_kinds))
            AND (of_names IS NULL OR s.name = ANY (of_names)) AND (since IS NULL OR s.at >= since)
            AND (named_from.before IS NULL OR s.at < named_from.before) LIMIT most;
    END IF;
END $$;

-- The operators are those of the extension, wherever it was installed: nothing else is looked for there. The graph is read
-- on until there are enough rows of this project (relaxed_order); 16 times work_mem, because 4 MB end that too early. The
-- sort is put off, or a plan would sort the handful of rows that it takes a project for.
DO $create$
DECLARE
    place text := (SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector');
BEGIN
    EXECUTE format($function$
CREATE FUNCTION holdfast.nearest(of_project text, asked %1$s.halfvec, of_kinds text[], of_names text[],
        since double precision, before double precision, every boolean, most integer)
    RETURNS TABLE (n bigint, dot double precision) LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET enable_sort = off SET hnsw.iterative_scan = relaxed_order
    SET hnsw.ef_search = 200 SET hnsw.max_scan_tuples = 200000 SET hnsw.scan_mem_multiplier = 16 AS
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
    RETURN QUERY EXECUTE pg_catalog.format(
        'SELECT s.n, -(s.meaning OPERATOR(%1$s.<#>) $2)::float8 FROM %%s AS s WHERE s.project = $1
             AND s.meaning IS NOT NULL AND ($3 IS NULL OR s.kind = ANY ($3)) AND ($4 IS NULL OR s.name = ANY ($4))
             AND ($5 IS NULL OR s.at >= $5) AND ($6 IS NULL OR s.at < $6)
         ORDER BY %%s LIMIT $7', place,
        CASE WHEN every THEN '(s.meaning OPERATOR(%1$s.<#>) $2) + 0' ELSE 's.meaning OPERATOR(%1$s.<#>) $2' END)
        USING of_project, asked, of_kinds, of_names, since, before, most;
END $$;

CREATE FUNCTION holdfast.dots(of_project text, asked %1$s.halfvec, numbers bigint[])
    RETURNS TABLE (n bigint, dot double precision) LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS
$$ BEGIN
    RETURN QUERY SELECT s.n, -(s.meaning OPERATOR(%1$s.<#>) asked)::float8 FROM holdfast.by_number(of_project, numbers) AS s
        WHERE s.meaning IS NOT NULL;
END $$;

REVOKE ALL ON FUNCTION holdfast.nearest(text, %1$s.halfvec, text[], text[], double precision, double precision, boolean,
    integer), holdfast.dots(text, %1$s.halfvec, bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast.nearest(text, %1$s.halfvec, text[], text[], double precision, double precision, boolean,
    integer), holdfast.dots(text, %1$s.halfvec, bigint[]) TO holdfast_member;
$function$, place);
END $create$;

REVOKE SELECT ON holdfast.statement FROM holdfast_member;
DO $$ BEGIN
    EXECUTE format('GRANT SELECT (%s) ON holdfast.statement TO holdfast_member', (
        SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute WHERE attrelid = 'holdfast.statement'::regclass
        AND attnum > 0 AND NOT attisdropped AND attname <> 'meaning'));
END $$;

REVOKE ALL ON FUNCTION holdfast.by_number(text, bigint[]), holdfast.by_chunk(text, bigint[]), holdfast.by_id(text, text[]),
    holdfast.parts(text, bigint[], integer[], integer[]), holdfast.followers(text, bigint[]),
    holdfast.named_from(text, text, text, text[], text[], double precision, double precision, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION holdfast.by_number(text, bigint[]), holdfast.by_chunk(text, bigint[]),
    holdfast.by_id(text, text[]), holdfast.parts(text, bigint[], integer[], integer[]), holdfast.followers(text, bigint[]),
    holdfast.named_from(text, text, text, text[], text[], double precision, double precision, integer) TO holdfast_member;
