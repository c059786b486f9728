-- Who may see which project, and the packs of a project as `sync/transport.py` describes them.
--
-- A person is the login that the server let in (session_user): SET ROLE changes nothing, and a pool needs a login for each
-- person. Policies never trust the program that asks.

CREATE SCHEMA IF NOT EXISTS holdfast;

DO $$
BEGIN
    -- Roles belong to all databases of a server; another one may have made it.
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'holdfast_member') THEN
        CREATE ROLE holdfast_member NOLOGIN;
    END IF;
END $$;

CREATE TABLE holdfast.project (
    id text PRIMARY KEY CHECK (id ~ '^[a-z0-9][a-z0-9-]{0,63}$'),
    added timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE holdfast.member (
    project text NOT NULL REFERENCES holdfast.project ON DELETE CASCADE,
    login name NOT NULL,
    role text NOT NULL CHECK (role IN ('owner', 'member', 'reader')),
    PRIMARY KEY (project, login)
);

-- Which login publishes for which author's key: the first that did, so that nobody overwrites anybody.
CREATE TABLE holdfast.author (
    project text NOT NULL REFERENCES holdfast.project ON DELETE CASCADE,
    author text NOT NULL CHECK (author ~ '^[0-9a-f]{16}$'),
    login name NOT NULL,
    PRIMARY KEY (project, author)
);

CREATE TABLE holdfast.pack (
    project text NOT NULL REFERENCES holdfast.project ON DELETE CASCADE,
    author text NOT NULL CHECK (author ~ '^[0-9a-f]{16}$'),
    machine text NOT NULL CHECK (machine ~ '^[a-z0-9]{1,12}$'),
    name text NOT NULL,
    data bytea NOT NULL CHECK (octet_length(data) <= 64000000),
    added timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project, author, machine, name),
    CONSTRAINT name_is_the_hash CHECK (name = left(encode(sha256(data), 'hex'), 40))
) PARTITION BY HASH (project);

DO $$
BEGIN
    FOR number IN 0..7 LOOP
        EXECUTE format(
            'CREATE TABLE holdfast.pack_%s PARTITION OF holdfast.pack FOR VALUES WITH (MODULUS 8, REMAINDER %s)',
            number, number);
        -- Packs are compressed and sealed: compressing them again costs time and wins nothing.
        EXECUTE format('ALTER TABLE holdfast.pack_%s ALTER COLUMN data SET STORAGE EXTERNAL', number);
        -- Estimates of EXPLAIN are made of statistics over all rows, those of other projects too.
        EXECUTE format(
            'ALTER TABLE holdfast.pack_%s ALTER COLUMN project SET STATISTICS 0, ALTER COLUMN author SET STATISTICS 0, '
            'ALTER COLUMN machine SET STATISTICS 0, ALTER COLUMN name SET STATISTICS 0', number);
    END LOOP;
END $$;

ALTER TABLE holdfast.project ALTER COLUMN id SET STATISTICS 0;
ALTER TABLE holdfast.member ALTER COLUMN project SET STATISTICS 0, ALTER COLUMN login SET STATISTICS 0,
    ALTER COLUMN role SET STATISTICS 0;
ALTER TABLE holdfast.author ALTER COLUMN project SET STATISTICS 0, ALTER COLUMN author SET STATISTICS 0,
    ALTER COLUMN login SET STATISTICS 0;

-- --- who is asking: these tell a login about itself, and take no name of another ----------------------------

CREATE FUNCTION holdfast.readable() RETURNS text[] LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS
$$ SELECT coalesce(array_agg(project), '{}') FROM holdfast.member WHERE login = session_user $$;

CREATE FUNCTION holdfast.writable() RETURNS text[] LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS
$$ SELECT coalesce(array_agg(project), '{}') FROM holdfast.member
   WHERE login = session_user AND role IN ('owner', 'member') $$;

CREATE FUNCTION holdfast.owned() RETURNS text[] LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS
$$ SELECT coalesce(array_agg(project), '{}') FROM holdfast.member WHERE login = session_user AND role = 'owner' $$;

CREATE FUNCTION holdfast.is_mine(of_project text, of_author text) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS
$$ SELECT EXISTS (SELECT FROM holdfast.author
                  WHERE project = of_project AND author = of_author AND login = session_user) $$;

CREATE FUNCTION holdfast.claim(of_project text, of_author text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS
$$ BEGIN
    IF NOT of_project = ANY (holdfast.writable()) THEN
        RETURN false;
    END IF;
    INSERT INTO holdfast.author VALUES (of_project, of_author, session_user) ON CONFLICT DO NOTHING;
    RETURN holdfast.is_mine(of_project, of_author);
END $$;

-- --- what owners and administrators do ----------------------------------------------------------------------

CREATE FUNCTION holdfast.set_member(of_project text, of_login name, new_role text) RETURNS void LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$ BEGIN
    -- The same answer for a project of others and for one that is not there.
    IF NOT of_project = ANY (holdfast.owned()) THEN
        RAISE EXCEPTION 'only an owner of this project changes its members' USING ERRCODE = '42501';
    END IF;
    PERFORM FROM holdfast.project WHERE id = of_project FOR UPDATE;
    IF new_role IS NULL THEN
        DELETE FROM holdfast.member WHERE project = of_project AND login = of_login;
    ELSE
        INSERT INTO holdfast.member VALUES (of_project, of_login, new_role)
            ON CONFLICT (project, login) DO UPDATE SET role = new_role;
    END IF;
    IF NOT EXISTS (SELECT FROM holdfast.member WHERE project = of_project AND role = 'owner') THEN
        RAISE EXCEPTION 'a project needs an owner' USING ERRCODE = '42501';
    END IF;
END $$;

-- For those who administer the database; nobody else may call it.
CREATE FUNCTION holdfast.add_project(new_project text, new_owner name) RETURNS void LANGUAGE sql
    SET search_path = pg_catalog, pg_temp AS
$$ INSERT INTO holdfast.project (id) VALUES (new_project) ON CONFLICT DO NOTHING;
   INSERT INTO holdfast.member VALUES (new_project, new_owner, 'owner')
       ON CONFLICT (project, login) DO UPDATE SET role = 'owner' $$;

-- --- policies -----------------------------------------------------------------------------------------------

ALTER TABLE holdfast.project ENABLE ROW LEVEL SECURITY;
ALTER TABLE holdfast.member ENABLE ROW LEVEL SECURITY;
ALTER TABLE holdfast.author ENABLE ROW LEVEL SECURITY;
ALTER TABLE holdfast.pack ENABLE ROW LEVEL SECURITY;

-- A subselect is asked once for a query, and a function call once for each row.
CREATE POLICY of_members ON holdfast.project FOR SELECT USING (id = ANY ((SELECT holdfast.readable())::text[]));
CREATE POLICY of_members ON holdfast.member FOR SELECT USING (project = ANY ((SELECT holdfast.readable())::text[]));
CREATE POLICY of_members ON holdfast.author FOR SELECT USING (project = ANY ((SELECT holdfast.readable())::text[]));
CREATE POLICY read ON holdfast.pack FOR SELECT USING (project = ANY ((SELECT holdfast.readable())::text[]));
CREATE POLICY add ON holdfast.pack FOR INSERT
    WITH CHECK (project = ANY ((SELECT holdfast.writable())::text[]) AND holdfast.is_mine(project, author));
CREATE POLICY drop_mine ON holdfast.pack FOR DELETE
    USING (project = ANY ((SELECT holdfast.writable())::text[]) AND holdfast.is_mine(project, author));
CREATE POLICY drop_any ON holdfast.pack FOR DELETE USING (project = ANY ((SELECT holdfast.owned())::text[]));

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA holdfast FROM PUBLIC;
GRANT USAGE ON SCHEMA holdfast TO holdfast_member;
GRANT SELECT ON holdfast.project, holdfast.member, holdfast.author TO holdfast_member;
GRANT SELECT, INSERT, DELETE ON holdfast.pack TO holdfast_member;
GRANT EXECUTE ON FUNCTION holdfast.readable(), holdfast.writable(), holdfast.owned(), holdfast.is_mine(text, text),
    holdfast.claim(text, text), holdfast.set_member(text, name, text) TO holdfast_member;
