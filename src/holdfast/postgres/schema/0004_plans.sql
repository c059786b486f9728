-- Policies of statements that no index serves. There are no statistics of these columns, and a plan took `project = ANY`
-- for a handful of rows: it read a whole project for each row that was to be looked up. Every question names its project,
-- and an index that begins with it serves that; the policy is then asked about the rows that were found.

ALTER POLICY read ON holdfast.statement USING ((project || '') = ANY ((SELECT holdfast.readable())::text[]));
ALTER POLICY drop_mine ON holdfast.statement
    USING ((project || '') = ANY ((SELECT holdfast.writable())::text[]) AND holdfast.is_mine(project, author));
ALTER POLICY drop_any ON holdfast.statement USING ((project || '') = ANY ((SELECT holdfast.owned())::text[]));
