-- What the team shares, in one index. The candidates come from here; ranking is the same code as over SQLite.

CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE holdfast.statement (
    project text NOT NULL REFERENCES holdfast.project ON DELETE CASCADE,
    author text NOT NULL CHECK (author ~ '^[0-9a-f]{16}$'),
    id text NOT NULL CHECK (length(id) BETWEEN 1 AND 1000),
    kind text NOT NULL,
    at double precision,
    title text NOT NULL DEFAULT '',
    body text NOT NULL CHECK (octet_length(body) <= 1000000),
    -- Stored: an index over an expression makes ts_rank_cd parse every body again.
    words tsvector NOT NULL GENERATED ALWAYS AS (
        setweight(to_tsvector('pg_catalog.simple', title), 'A') || to_tsvector('pg_catalog.simple', body)
    ) STORED,
    meaning halfvec(384),
    PRIMARY KEY (project, author, id)
) PARTITION BY HASH (project);

DO $$
BEGIN
    FOR number IN 0..7 LOOP
        EXECUTE format(
            'CREATE TABLE holdfast.statement_%s PARTITION OF holdfast.statement '
            'FOR VALUES WITH (MODULUS 8, REMAINDER %s)', number, number);
        EXECUTE format(
            'ALTER TABLE holdfast.statement_%s ALTER COLUMN project SET STATISTICS 0, '
            'ALTER COLUMN author SET STATISTICS 0, ALTER COLUMN id SET STATISTICS 0, ALTER COLUMN kind SET STATISTICS 0, '
            'ALTER COLUMN at SET STATISTICS 0, ALTER COLUMN title SET STATISTICS 0, ALTER COLUMN body SET STATISTICS 0, '
            'ALTER COLUMN words SET STATISTICS 0, ALTER COLUMN meaning SET STATISTICS 0', number);
    END LOOP;
END $$;

CREATE INDEX ON holdfast.statement USING gin (words);
CREATE INDEX ON holdfast.statement USING hnsw (meaning halfvec_cosine_ops) WITH (m = 16, ef_construction = 64);

ALTER TABLE holdfast.statement ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON holdfast.statement FOR SELECT USING (project = ANY ((SELECT holdfast.readable())::text[]));
CREATE POLICY add ON holdfast.statement FOR INSERT
    WITH CHECK (project = ANY ((SELECT holdfast.writable())::text[]) AND holdfast.is_mine(project, author));
CREATE POLICY change ON holdfast.statement FOR UPDATE
    USING (project = ANY ((SELECT holdfast.writable())::text[]) AND holdfast.is_mine(project, author))
    WITH CHECK (project = ANY ((SELECT holdfast.writable())::text[]) AND holdfast.is_mine(project, author));
CREATE POLICY drop_mine ON holdfast.statement FOR DELETE
    USING (project = ANY ((SELECT holdfast.writable())::text[]) AND holdfast.is_mine(project, author));
CREATE POLICY drop_any ON holdfast.statement FOR DELETE USING (project = ANY ((SELECT holdfast.owned())::text[]));

GRANT SELECT, INSERT, DELETE ON holdfast.statement TO holdfast_member;
GRANT UPDATE (kind, at, title, body, meaning) ON holdfast.statement TO holdfast_member;
