CREATE TABLE account (
	number     INTEGER PRIMARY KEY, -- from 1 on
	id         TEXT NOT NULL UNIQUE,
	about      BLOB,                -- what surrounds the state: credentials, stubs, faults
	generation INTEGER NOT NULL,    -- of the snapshot, 0 for none
	lsn        INTEGER NOT NULL,    -- of the last record in the snapshot
	chain      BLOB NOT NULL,       -- of the last row of the journal whose records are all in the snapshot
	size       INTEGER NOT NULL,    -- of the snapshot, in bytes
	sum        BLOB NOT NULL,       -- SHA-256 of the snapshot
	own        BLOB NOT NULL        -- SHA-256 of this row
);

-- A row has the records of one account that were written together. Its place is the number
-- of the account times 2^40, plus the number of the last of the records: so the rows of an
-- account lie side by side in one tree, which costs half of what a tree and its index do.
CREATE TABLE journal (
	place   INTEGER PRIMARY KEY,
	records TEXT NOT NULL,         -- JSON array of {lsn, at, kind, body}
	chain   BLOB NOT NULL          -- checksum of this row and of the one before
);

-- For people: one row for each record.
CREATE VIEW record AS
	SELECT account.id AS account, each.value ->> 'lsn' AS lsn, each.value ->> 'at' AS at, each.value ->> 'kind' AS kind, each.value -> 'body' AS body
	FROM journal JOIN account ON account.number = journal.place >> 40, json_each(journal.records) AS each;

CREATE TABLE snapshot (
	account    TEXT NOT NULL,
	generation INTEGER NOT NULL,
	part       INTEGER NOT NULL,
	body       BLOB NOT NULL,
	PRIMARY KEY (account, generation, part)
);

CREATE TABLE mark (commits INTEGER NOT NULL); -- groups ever written; see the file mark
INSERT INTO mark VALUES (0);
