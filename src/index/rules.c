/* SPDX-License-Identifier: MIT */
/*
 * Each rule has one statement that finds violations, so that it sees a single state of the index,
 * and statements that repair them. Later rules rely on the repairs of earlier ones.
 *
 * Rows are visited in the order of the table that they are looked up in, or are sorted into that
 * order: random reads of a large table would make a check slow. There is no index on dirent(ino),
 * block(chunk) or chunk(frame).
 */
#include "index/rules.h"

#include "base/xattr.h"
#include "index/index.h"
#include "index/schema.h"

#define ROOT "1"
#define BLOCK_BYTES "262144"
#define LOST_POS OFS_SCHEMA_STR(OFS_INDEX_LOST_POS)

#define IS_DIR(row) row ".mode & 61440 = 16384"
#define IS_FILE(row) row ".mode & 61440 = 32768"
#define DIRENT_DIR "type = 4"
#define DIRENT_FILE "type = 8"
#define DIRENT_TYPE(row) "(" row ".mode >> 12 & 15)"
#define NAME(row) "CAST(" row ".name AS TEXT)"
/* All blocks of all files. The first block of each file is stored in its inode. */
#define FIRST_CHUNK "iif(chunk < 0, -chunk, chunk)"
#define BLOCKS                                                                  \
	"(SELECT ino, 0 AS block, " FIRST_CHUNK " AS chunk, chunk < 0 AS guest" \
	" FROM inode WHERE chunk <> 0 UNION ALL SELECT ino, block, chunk, guest FROM block)"

/* clang-format off */

#define FIND_TREE(table)                                                \
	"SELECT 0, integrity_check FROM pragma_integrity_check('" table \
	"') WHERE integrity_check <> 'ok'"
#define TREE(table) { "table " table, FIND_TREE(table), "REINDEX " table, .tree = true }

/* ---- rows that belong to an inode */

#define FIND_NO_ROOT \
	"SELECT 0, 'the root directory does not exist'" \
	" WHERE NOT EXISTS (SELECT 1 FROM inode WHERE ino = " ROOT ")" \
	" AND EXISTS (SELECT 1 FROM inode)"
#define REPAIR_NO_ROOT \
	"INSERT INTO inode SELECT " ROOT ", 0, 16877, uid, gid, 2 + (SELECT count(*) FROM dirent" \
	" WHERE parent = " ROOT " AND " DIRENT_DIR "), 0, 0, mtime, 0, 0, 0, 0, -1, NULL," \
	" NULL, 0, 0, NULL FROM inode ORDER BY ino LIMIT 1"

/* The mode of an inode is wrong if both its rows and the entry that names it contradict it. */
#define NOT_DIR \
	" FROM (SELECT DISTINCT parent FROM dirent) d CROSS JOIN inode i ON i.ino = d.parent" \
	" WHERE NOT " IS_DIR("i") " AND (i.ino = " ROOT \
	" OR i.ino IN (SELECT ino FROM dirent WHERE " DIRENT_DIR "))"
#define FIND_NOT_DIR \
	"SELECT i.ino, format('inode %llu has entries and is named as a directory, but its" \
	" mode is %llo', i.ino, i.mode)" NOT_DIR
#define REPAIR_NOT_DIR \
	"UPDATE inode SET mode = mode & 4095 | 16384 WHERE ino IN (SELECT i.ino" NOT_DIR ")"

#define NOT_FILE \
	" FROM inode i WHERE NOT " IS_FILE("i") " AND (i.chunk <> 0" \
	" OR EXISTS (SELECT 1 FROM block b WHERE b.ino = i.ino)" \
	" OR EXISTS (SELECT 1 FROM draft d WHERE d.ino = i.ino))" \
	" AND +i.ino IN (SELECT ino FROM dirent WHERE " DIRENT_FILE ")"
#define FIND_NOT_FILE \
	"SELECT i.ino, format('inode %llu has content and is named as a file, but its mode" \
	" is %llo', i.ino, i.mode)" NOT_FILE
#define REPAIR_NOT_FILE \
	"UPDATE inode SET mode = mode & 4095 | 32768 WHERE ino IN (SELECT i.ino" NOT_FILE ")"

/* A mark may exist without its inode if that is newer than the last checkpoint. */
#define NO_MARK \
	" FROM mark WHERE ino < (SELECT next_ino FROM meta) AND ino NOT IN (SELECT ino FROM inode)"
#define FIND_MARK \
	"SELECT 0, format('a mark on inode %llu, which does not exist', ino)" NO_MARK
#define REPAIR_MARK "DELETE" NO_MARK

#define FIND_DRAFT \
	"SELECT 0, format('a draft of %llu bytes at %llu of inode %llu, which is not a file'," \
	" d.len, d.off, d.ino) FROM draft d LEFT JOIN inode i ON i.ino = d.ino" \
	" WHERE (" IS_FILE("i") ") IS NOT 1"
#define REPAIR_DRAFT \
	"DELETE FROM draft WHERE NOT EXISTS" \
	" (SELECT 1 FROM inode i WHERE i.ino = draft.ino AND " IS_FILE("i") ")"

#define BAD_XATTR \
	" FROM xattr WHERE ino NOT IN (SELECT ino FROM inode) OR NOT is_xattr_list(list)"
#define FIND_XATTR \
	"SELECT ino * (ino IN (SELECT ino FROM inode)), iif(ino IN (SELECT ino FROM inode)," \
	" format('the extended attributes of inode %llu are damaged', ino)," \
	" format('extended attributes of inode %llu, which does not exist', ino))" BAD_XATTR
#define REPAIR_XATTR "DELETE" BAD_XATTR

#define FIND_BLOCK \
	"SELECT 0, format('%lld blocks of inode %llu, which is not a file', b.n, b.ino)" \
	" FROM (SELECT ino, count(*) AS n FROM block GROUP BY ino UNION ALL SELECT i.ino, 1" \
	" FROM inode i WHERE i.chunk <> 0 AND NOT " IS_FILE("i") ") b" \
	" LEFT JOIN inode i ON i.ino = b.ino WHERE (" IS_FILE("i") ") IS NOT 1"
#define REPAIR_BLOCK \
	"DELETE FROM block WHERE NOT EXISTS" \
	" (SELECT 1 FROM inode i WHERE i.ino = block.ino AND " IS_FILE("i") ");" \
	"UPDATE inode SET chunk = 0 WHERE chunk <> 0 AND NOT " IS_FILE("inode")

/* Block 0 is never looked up in this table. */
#define FIND_FIRST \
	"SELECT ino, format('block %lld of inode %llu is stored in the wrong place', block, ino)" \
	" FROM block WHERE (block > 0) IS NOT 1"
#define REPAIR_FIRST \
	"UPDATE inode SET chunk = b.chunk FROM block b WHERE b.ino = inode.ino AND b.block = 0" \
	" AND inode.chunk = 0;DELETE FROM block WHERE (block > 0) IS NOT 1"

/* ---- names */

#define BAD_NAME \
	" FROM dirent d WHERE typeof(d.name) <> 'blob' OR length(d.name) NOT BETWEEN 1 AND 255" \
	" OR d.name IN (x'2e', x'2e2e') OR instr(d.name, x'2f') OR instr(d.name, x'00')"
#define FIND_NAME \
	"SELECT d.ino, format('''%s'' in directory %llu, for inode %llu: not a valid name'," \
	" " NAME("d") ", d.parent, d.ino)" BAD_NAME
#define REPAIR_NAME \
	"DELETE FROM dirent WHERE (parent, name) IN (SELECT d.parent, d.name" BAD_NAME ")"

#define FIND_PARENT \
	"SELECT d.ino, format('''%s'', for inode %llu, is an entry of inode %llu, which is not a" \
	" directory', " NAME("d") ", d.ino, d.parent)" \
	" FROM dirent d LEFT JOIN inode p ON p.ino = d.parent WHERE (" IS_DIR("p") ") IS NOT 1"
#define REPAIR_PARENT \
	"DELETE FROM dirent WHERE NOT EXISTS" \
	" (SELECT 1 FROM inode p WHERE p.ino = dirent.parent AND " IS_DIR("p") ")"

#define FIND_NAMED \
	"SELECT iif(i.ino IS NULL, d.parent, i.ino), iif(i.ino IS NULL," \
	" format('''%s'' in directory %llu names inode %llu, which does not exist'," \
	" " NAME("d") "," \
	" d.parent, d.ino), format('''%s'' in directory %llu says type %lld, inode %llu is" \
	" of type %lld', " NAME("d") ", d.parent, d.type, d.ino, " DIRENT_TYPE("i") "))" \
	" FROM dirent d LEFT JOIN inode i ON i.ino = d.ino WHERE d.type IS NOT " DIRENT_TYPE("i") \
	" OR i.ino IS NULL"
#define REPAIR_NAMED \
	"DELETE FROM dirent WHERE NOT EXISTS (SELECT 1 FROM inode i WHERE i.ino = dirent.ino);" \
	"UPDATE dirent SET type = " DIRENT_TYPE("i") " FROM inode i" \
	" WHERE i.ino = dirent.ino AND type IS NOT " DIRENT_TYPE("i")

/* A directory has one name: the one in its recorded parent, if that exists. */
#define SECOND_NAME \
	" FROM (SELECT d.parent, d.name, d.ino, row_number() OVER (PARTITION BY d.ino" \
	" ORDER BY (SELECT i.parent IS d.parent FROM inode i WHERE i.ino = d.ino) DESC," \
	" d.parent, d.name) AS k FROM dirent d WHERE d." DIRENT_DIR ") d" \
	" WHERE d.k > 1 OR d.ino = " ROOT
#define FIND_SECOND \
	"SELECT d.ino, format('''%s'' in directory %llu is one name too many for directory %llu'," \
	" " NAME("d") ", d.parent, d.ino)" SECOND_NAME
#define REPAIR_SECOND \
	"DELETE FROM dirent WHERE (parent, name) IN (SELECT d.parent, d.name" SECOND_NAME ")"

/* ---- inodes without a name, and directories that contain themselves */

#define NAMELESS \
	" FROM inode i WHERE i.ino <> " ROOT " AND i.ino NOT IN (SELECT ino FROM dirent)" \
	" AND (i.nlink <> 0 OR " IS_DIR("i") \
	" AND EXISTS (SELECT 1 FROM dirent d WHERE d.parent = i.ino))"
#define FIND_NAMELESS \
	"SELECT i.ino, format('inode %llu has %lld links but no name', i.ino, i.nlink)" NAMELESS

/* Nothing is moved into a directory that is itself unreachable. */
#define LOST_DIR_REACHED \
	"?1 IN (WITH RECURSIVE reached(ino) AS (VALUES(" ROOT ") UNION SELECT d.ino FROM" \
	" reached r" \
	" CROSS JOIN dirent d ON d.parent = r.ino AND d." DIRENT_DIR ") SELECT ino FROM reached)"
#define REPAIR_NAMELESS \
	"CREATE TEMP TABLE nameless(ino INTEGER PRIMARY KEY);" \
	"INSERT INTO nameless SELECT i.ino" NAMELESS " AND " LOST_DIR_REACHED ";" \
	"INSERT INTO dirent(parent, name, ino, type, cookie)" \
	" SELECT ?1, CAST(n.ino || CASE WHEN EXISTS (SELECT 1 FROM dirent d WHERE d.parent = ?1" \
	" AND d.name = CAST(n.ino AS BLOB)) THEN '.' || hex(randomblob(8)) ELSE '' END AS BLOB)," \
	" n.ino, " DIRENT_TYPE("i") "," \
	" (SELECT coalesce(max(cookie), 0) FROM dirent WHERE parent = ?1)" \
	" + row_number() OVER (ORDER BY n.ino)" \
	" FROM nameless n CROSS JOIN inode i ON i.ino = n.ino;" \
	"UPDATE inode SET parent = ?1, nlink = CASE WHEN " IS_DIR("inode") " THEN" \
	" 2 + (SELECT count(*) FROM dirent d WHERE d.parent = inode.ino AND d." DIRENT_DIR ")" \
	" ELSE 1 END WHERE ino IN (SELECT ino FROM nameless);" \
	"UPDATE inode SET nlink = 2 + (SELECT count(*) FROM dirent WHERE parent = ?1" \
	" AND " DIRENT_DIR ") WHERE ino = ?1 AND EXISTS (SELECT 1 FROM nameless);" \
	"DROP TABLE nameless"

/* Directories that are neither below the root nor below a nameless directory. */
#define WITH_CIRCLE \
	"WITH RECURSIVE top(ino) AS (SELECT i.ino FROM inode i WHERE " IS_DIR("i") \
	" AND (i.ino = " ROOT " OR i.ino NOT IN (SELECT ino FROM dirent WHERE " DIRENT_DIR "))" \
	" UNION SELECT d.ino FROM top t" \
	" CROSS JOIN dirent d ON d.parent = t.ino AND d." DIRENT_DIR ")," \
	" circle(ino) AS MATERIALIZED (SELECT i.ino FROM inode i WHERE " IS_DIR("i") \
	" AND i.ino NOT IN (SELECT ino FROM top))"
#define FIND_CIRCLE \
	WITH_CIRCLE " SELECT ino, format('directory %llu cannot be reached from the root:" \
	" it lies in a circle of directories, or below one', ino) FROM circle"

/* Cuts each circle above the directory with the lowest number. */
#define REPAIR_CIRCLE \
	WITH_CIRCLE ", up(ino, at) AS (SELECT d.ino, d.parent FROM circle c CROSS JOIN dirent d" \
	" ON d.ino = c.ino AND d." DIRENT_DIR ")," \
	" walk(ino, at) AS (SELECT ino, at FROM up UNION SELECT w.ino, u.at FROM walk w" \
	" CROSS JOIN up u ON u.ino = w.at)" \
	" DELETE FROM dirent WHERE " DIRENT_DIR " AND ino IN (SELECT ino FROM walk GROUP BY ino" \
	" HAVING min(at) = ino) AND " LOST_DIR_REACHED ";" REPAIR_NAMELESS

/* ---- links and parents */

#define NAMES \
	"(SELECT ino, count(*) AS n FROM dirent GROUP BY ino)"
#define FIND_LINKS \
	"SELECT i.ino, format('inode %llu has %lld links but %lld names', i.ino, i.nlink," \
	" d.n) FROM " \
	NAMES " d CROSS JOIN inode i ON i.ino = d.ino WHERE NOT " IS_DIR("i") \
	" AND i.nlink IS NOT d.n"
#define REPAIR_LINKS \
	"UPDATE inode SET nlink = d.n FROM " NAMES " d WHERE d.ino = inode.ino" \
	" AND NOT " IS_DIR("inode") " AND nlink IS NOT d.n"

#define SUBDIRS \
	"(SELECT count(*) FROM dirent d WHERE d.parent = i.ino AND d." DIRENT_DIR ")"
#define DIR_LINKS \
	" FROM (SELECT i.ino, i.nlink, 2 + " SUBDIRS " AS n FROM inode i WHERE " IS_DIR("i") ") i" \
	" WHERE i.nlink IS NOT i.n AND (i.nlink <> 0 OR i.ino = " ROOT \
	" OR i.ino IN (SELECT ino FROM dirent WHERE " DIRENT_DIR "))"
#define FIND_DIR_LINKS \
	"SELECT i.ino, format('directory %llu has %lld links instead of %lld', i.ino," \
	" i.nlink, i.n)" \
	DIR_LINKS
#define REPAIR_DIR_LINKS \
	"UPDATE inode SET nlink = l.n FROM (SELECT i.ino, i.n" DIR_LINKS ") l WHERE l.ino" \
	" = inode.ino"

/*
 * The recorded parent of a file may have lost its name for the file since. That of a directory must
 * be the directory that names it.
 */
#define DIR_PARENT \
	" FROM dirent d CROSS JOIN inode i ON i.ino = d.ino" \
	" WHERE d." DIRENT_DIR " AND i.parent IS NOT d.parent AND NOT EXISTS" \
	" (SELECT 1 FROM dirent e WHERE e.parent = i.parent AND e.ino = i.ino AND e." DIRENT_DIR ")"
#define FIND_DIR_PARENT \
	"SELECT i.ino, format('directory %llu says that it lies in %llu, but it lies in" \
	" %llu', i.ino, i.parent, d.parent)" DIR_PARENT
#define REPAIR_DIR_PARENT \
	"UPDATE inode SET parent = p.parent FROM (SELECT d.ino, d.parent" DIR_PARENT ") p" \
	" WHERE p.ino = inode.ino"

#define NO_PARENT \
	" FROM inode i WHERE (i.parent > 0) IS NOT 1 AND i.nlink <> 0 AND NOT " IS_DIR("i") \
	" AND +i.ino IN (SELECT ino FROM dirent)"
#define FIND_NO_PARENT \
	"SELECT i.ino, format('inode %llu has a name but no parent', i.ino)" NO_PARENT
#define REPAIR_NO_PARENT \
	"UPDATE inode SET parent = p.parent FROM (SELECT ino, min(parent) AS parent FROM dirent" \
	" WHERE ino IN (SELECT i.ino" NO_PARENT ") GROUP BY ino) p WHERE p.ino = inode.ino"

/*
 * The number of a tombstone must not be reused either. Files imported from other stores have
 * numbers far above the next one; a gap of GAP numbers tells them apart.
 */
#define GAP "65536"
#define USED_FROM(from) \
	"(SELECT min(n) FROM (SELECT min(ino) AS n FROM inode WHERE ino >= " from \
	" UNION ALL SELECT min(ino) FROM tombstone WHERE ino >= " from "))"
#define FIND_NEXT_INO \
	"SELECT 0, format('the next inode number is %llu, but %llu exists', next_ino, n)" \
	" FROM (SELECT next_ino, " USED_FROM("next_ino") " AS n FROM meta)" \
	" WHERE n < next_ino + " GAP
#define REPAIR_NEXT_INO \
	"UPDATE meta SET next_ino = 1 + (WITH RECURSIVE u(n) AS (SELECT " USED_FROM("next_ino") \
	" UNION ALL SELECT " USED_FROM("u.n + 1") " AS m FROM u WHERE m < u.n + " GAP ")" \
	" SELECT max(n) FROM u)" \
	" WHERE " USED_FROM("next_ino") " < next_ino + " GAP
#define FIND_NEXT_CHUNK \
	"SELECT 0, format('the next chunk number is %llu, but %llu exists', next_chunk, n)" \
	" FROM meta CROSS JOIN (SELECT max(id) AS n FROM chunk) WHERE n >= next_chunk"
#define REPAIR_NEXT_CHUNK "UPDATE meta SET next_chunk = 1 + (SELECT max(id) FROM chunk)"

#define BAD_TOMBSTONE \
	" FROM tombstone WHERE typeof(what) <> 'blob' OR typeof(removed) <> 'integer'"
#define FIND_TOMBSTONE \
	"SELECT 0, format('the tombstone of inode %llu is damaged', ino)" BAD_TOMBSTONE
#define REPAIR_TOMBSTONE "DELETE" BAD_TOMBSTONE

#define BAD_LEDGER \
	" FROM ledger WHERE typeof(who) <> 'blob' OR typeof(day) <> 'integer'" \
	" OR results < 0 OR offloaded < 0 OR pointers < 0 OR read < 0"
#define FIND_LEDGER "SELECT 0, format('row %lld of the ledger is damaged', id)" BAD_LEDGER
#define REPAIR_LEDGER "DELETE" BAD_LEDGER

#define FIND_AGE \
	"SELECT 0, format('the wall clock was at %lld, above its highest value %lld', age_wall," \
	" wall_high) FROM meta WHERE age_wall > wall_high"
#define REPAIR_AGE "UPDATE meta SET wall_high = age_wall WHERE age_wall > wall_high"

/* ---- content */

#define LOST_BLOCKS \
	" FROM " BLOCKS " b LEFT JOIN chunk c ON c.id = b.chunk LEFT JOIN frame f ON f.id = c.frame"
#define FIND_LOST \
	"SELECT b.ino, iif(c.id IS NULL, format('block %llu of inode %llu is lost: there" \
	" is no chunk" \
	" %llu', b.block, b.ino, b.chunk), format('block %llu of inode %llu is lost: chunk" \
	" %llu lies in frame %llu, which does not exist', b.block, b.ino, b.chunk, c.frame))" \
	LOST_BLOCKS " WHERE f.id IS NULL"

/*
 * A lost block becomes a draft that reads as an error, never a hole. Existing drafts stay, and the
 * lost ones fill the gaps between them.
 */
#define REPAIR_LOST \
	"CREATE TEMP TABLE lost AS SELECT b.ino, b.block, b.block * " BLOCK_BYTES " AS off," \
	" min((b.block + 1) * " BLOCK_BYTES ", i.size) AS stop" LOST_BLOCKS \
	" LEFT JOIN inode i ON i.ino = b.ino WHERE f.id IS NULL;" \
	"WITH start(ino, off, stop) AS (SELECT ino, off, stop FROM lost" \
	" UNION SELECT l.ino, d.off + d.len, l.stop FROM lost l CROSS JOIN draft d ON" \
	" d.ino = l.ino WHERE d.off + d.len > l.off AND d.off + d.len < l.stop)," \
	" gap(ino, off, len) AS (SELECT s.ino, s.off, min(s.stop, coalesce((SELECT min(d.off)" \
	" FROM draft d WHERE d.ino = s.ino AND d.off >= s.off), s.stop)) - s.off FROM start s" \
	" WHERE s.off < s.stop AND NOT EXISTS (SELECT 1 FROM draft d WHERE d.ino = s.ino" \
	" AND d.off <= s.off AND d.off + d.len > s.off))" \
	" INSERT INTO draft(ino, off, len, data_pos, data_len, data_off)" \
	" SELECT ino, off, len, " LOST_POS ", len, 0 FROM gap WHERE len > 0;" \
	"UPDATE inode SET sha = NULL WHERE typeof(sha) = 'integer'" \
	" AND ino IN (SELECT ino FROM lost WHERE block = 0);" \
	"DELETE FROM block WHERE (ino, block) IN (SELECT ino, block FROM lost);" \
	"UPDATE inode SET chunk = 0 WHERE ino IN (SELECT ino FROM lost WHERE block = 0);" \
	"DROP TABLE lost;" \
	"DELETE FROM chunk WHERE NOT EXISTS (SELECT 1 FROM frame f WHERE f.id = chunk.frame)"

#define FIND_SHA \
	"SELECT i.ino, format('the hash of inode %llu is invalid, or is that of a" \
	" first block that it lacks', i.ino)" BAD_SHA
#define BAD_SHA \
	" FROM inode i WHERE CASE typeof(i.sha) WHEN 'null' THEN 0 WHEN 'blob' THEN" \
	" length(i.sha) <> 32 WHEN 'integer' THEN i.sha <> 0 OR (i.chunk <> 0) IS NOT 1" \
	" ELSE 1 END"
#define REPAIR_SHA "UPDATE inode SET sha = NULL WHERE ino IN (SELECT i.ino" BAD_SHA ")"

/* ---- references; see block_rows.c */

/* The newest chunks may not have been used yet. */
#define UNUSED \
	" FROM chunk c WHERE c.id NOT IN (SELECT chunk FROM " BLOCKS ") AND (c.bearer IS NOT 0" \
	" OR NOT EXISTS (SELECT 1 FROM meta WHERE unused_from <> 0 AND c.id >= unused_from))"
#define FIND_UNUSED \
	"SELECT 0, format('chunk %llu is borne by inode %llu, but no block holds it'," \
	" c.id, c.bearer)" UNUSED
#define REPAIR_UNUSED "DELETE FROM chunk WHERE id IN (SELECT c.id" UNUSED ")"

#define BEARERS \
	" FROM (SELECT chunk, count(*) AS n, sum(guest IS 0) AS bearers, sum(guest IS 1)" \
	" AS guests," \
	" max(CASE guest WHEN 0 THEN ino END) AS ino FROM " BLOCKS " GROUP BY chunk) b" \
	" CROSS JOIN chunk c ON c.id = b.chunk" \
	" WHERE b.bearers <> 1 OR b.bearers + b.guests <> b.n OR b.ino IS NOT c.bearer"
#define FIND_BEARERS \
	"SELECT c.bearer, format('chunk %llu is borne by inode %llu; of its %lld blocks" \
	" %lld bear it" \
	" (of inode %llu) and %lld are guests', c.id, c.bearer, b.n, b.bearers, b.ino, b.guests)" \
	BEARERS

/* Makes the most plausible block of a chunk its bearer. */
#define REPAIR_BEARERS \
	"CREATE TEMP TABLE wrong(chunk INTEGER PRIMARY KEY);" \
	"INSERT INTO wrong SELECT c.id" BEARERS ";" \
	"CREATE TEMP TABLE bearer(chunk INTEGER PRIMARY KEY, ino INT, block INT);" \
	"INSERT INTO bearer SELECT chunk, ino, block FROM (SELECT b.chunk, b.ino, b.block," \
	" row_number() OVER (PARTITION BY b.chunk ORDER BY (b.guest IS 0) * 2 + (b.ino IS" \
	" c.bearer)" \
	" DESC, b.ino, b.block) AS k FROM " BLOCKS " b CROSS JOIN wrong w ON w.chunk = b.chunk" \
	" CROSS JOIN chunk c ON c.id = b.chunk) WHERE k = 1;" \
	"UPDATE block SET guest = (block.ino, block.block) IS NOT (r.ino, r.block)" \
	" FROM bearer r WHERE r.chunk = block.chunk;" \
	"UPDATE inode SET chunk = iif((inode.ino, 0) IS (r.ino, r.block), r.chunk, -r.chunk)" \
	" FROM bearer r WHERE r.chunk = iif(inode.chunk < 0, -inode.chunk, inode.chunk);" \
	"UPDATE chunk SET bearer = r.ino FROM bearer r WHERE r.chunk = chunk.id;" \
	"DROP TABLE bearer;" \
	"DROP TABLE wrong"

#define HELD \
	"(SELECT frame AS id, count(*) AS live, sum(len) AS held FROM chunk" \
	" WHERE bearer <> 0 GROUP BY frame)"
#define NOT_HELD \
	" FROM frame f WHERE (f.live IS NOT 0 OR f.held IS NOT 0)" \
	" AND f.id NOT IN (SELECT frame FROM chunk WHERE bearer <> 0)"
#define FIND_HELD \
	"SELECT 0, format('frame %llu counts %lld chunks of %lld bytes; it holds %lld of %lld'," \
	" f.id, f.live, f.held, h.live, h.held) FROM " HELD " h CROSS JOIN frame f ON f.id = h.id" \
	" WHERE f.live IS NOT h.live OR f.held IS NOT h.held" \
	" UNION ALL SELECT 0, format('frame %llu counts %lld chunks of %lld bytes; it" \
	" holds none', f.id, f.live, f.held)" NOT_HELD
#define REPAIR_HELD \
	"UPDATE frame SET live = h.live, held = h.held FROM " HELD " h WHERE h.id = frame.id" \
	" AND (frame.live IS NOT h.live OR frame.held IS NOT h.held);" \
	"UPDATE frame SET live = 0, held = 0 WHERE id IN (SELECT f.id" NOT_HELD ")"

#define SHARES \
	"(SELECT c.bearer AS ino, coalesce(sum(f.stored * (c.off + c.len) / f.raw" \
	" - f.stored * c.off / f.raw), 0) AS n FROM chunk c CROSS JOIN frame f ON f.id = c.frame" \
	" WHERE c.bearer <> 0 GROUP BY c.bearer)"
#define NO_SHARE \
	" FROM inode i WHERE i.stored IS NOT 0" \
	" AND i.ino NOT IN (SELECT bearer FROM chunk WHERE bearer <> 0)"
#define FIND_STORED \
	"SELECT i.ino, format('inode %llu is charged %lld bytes instead of %lld', i.ino," \
	" i.stored, s.n)" \
	" FROM " SHARES " s CROSS JOIN inode i ON i.ino = s.ino WHERE i.stored IS NOT s.n" \
	" UNION ALL SELECT i.ino, format('inode %llu is charged %lld bytes instead of" \
	" none', i.ino, i.stored)" NO_SHARE
#define REPAIR_STORED \
	"UPDATE inode SET stored = s.n FROM " SHARES " s WHERE s.ino = inode.ino" \
	" AND stored IS NOT s.n;" \
	"UPDATE inode SET stored = 0 WHERE ino IN (SELECT i.ino" NO_SHARE ")"

/* ---- places */

#define FIND_OUTSIDE \
	"SELECT c.bearer, format('chunk %llu takes %lld bytes at %lld of frame %llu, which" \
	" has %lld'," \
	" c.id, c.len, c.off, f.id, f.raw) FROM chunk c CROSS JOIN frame f ON f.id = c.frame" \
	" WHERE (c.len > 0 AND c.off >= 0 AND c.off + c.len <= f.raw) IS NOT 1"
#define FIND_OVERLAP \
	"SELECT bearer, format('chunks %llu and %llu overlap in frame %llu', other, id, frame)" \
	" FROM (SELECT id, bearer, frame, off, lag(off + len) OVER w AS stop, lag(id) OVER" \
	" w AS other FROM chunk WINDOW w AS (PARTITION BY frame ORDER BY off)) WHERE stop > off"
#define FIND_FRAMES \
	"SELECT 0, format('frames %llu and %llu overlap in pack %lld', other, id, pack)" \
	" FROM (SELECT id, pack, off, lag(off + stored) OVER w AS stop, lag(id) OVER w AS other" \
	" FROM frame INDEXED BY frame_place WINDOW w AS (PARTITION BY pack ORDER BY off))" \
	" WHERE stop > off"
#define FIND_EXTENTS \
	"SELECT 0, format('extents overlap at %lld of pack %lld', off, pack) FROM (SELECT pack, off," \
	" lag(off + len) OVER (PARTITION BY pack ORDER BY off) AS stop FROM extent) WHERE stop > off"
/* An extent begins or ends within such a frame. */
#define FIND_PARTLY \
	"SELECT 0, format('frame %llu at %lld of pack %lld lies only partly in an extent', f.id," \
	" f.off, f.pack) FROM (SELECT pack, off AS edge FROM extent UNION" \
	" SELECT pack, off + len FROM extent) e CROSS JOIN frame f ON f.id = (SELECT id FROM frame" \
	" INDEXED BY frame_place WHERE pack = e.pack AND off < e.edge ORDER BY off DESC LIMIT 1)" \
	" WHERE f.live > 0 AND f.off + f.stored > e.edge"
#define FIND_BEYOND \
	"SELECT 0, format('frame %llu takes %lld bytes at %lld of pack %lld, but the packs" \
	" end at %lld of %lld', f.id, f.stored, f.off, f.pack, m.pack_size, m.pack)" \
	" FROM meta m CROSS JOIN frame f WHERE (f.stored > 0 AND f.off >= 0 AND f.pack > 0" \
	" AND (f.pack < m.pack OR f.pack = m.pack AND f.off + f.stored <= m.pack_size)) IS NOT 1"

/* clang-format on */

static void is_xattr_list(sqlite3_context *context, int n, sqlite3_value **value)
{
	const void *list = sqlite3_value_blob(value[0]);
	int len = sqlite3_value_bytes(value[0]);

	(void)n;
	sqlite3_result_int(context, sqlite3_value_type(value[0]) == SQLITE_BLOB && len > 0 &&
					    ofs_xattr_is_list(list, (size_t)len));
}

int ofs_rules_add_functions(sqlite3 *db)
{
	return sqlite3_create_function_v2(db, "is_xattr_list", 1,
					  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
					  NULL, is_xattr_list, NULL, NULL, NULL);
}

const struct ofs_rule ofs_rules[] = {
	{ "table sqlite_schema", FIND_TREE("sqlite_schema"), NULL, .tree = true },
	TREE("meta"),
	TREE("inode"),
	TREE("dirent"),
	TREE("frame"),
	TREE("chunk"),
	TREE("block"),
	TREE("draft"),
	TREE("xattr"),
	TREE("tombstone"),
	TREE("ledger"),
	TREE("mark"),
	TREE("object"),
	TREE("extent"),
	{ "the root", FIND_NO_ROOT, REPAIR_NO_ROOT },
	{ "modes", FIND_NOT_DIR, REPAIR_NOT_DIR },
	{ "modes", FIND_NOT_FILE, REPAIR_NOT_FILE },
	{ "marks", FIND_MARK, REPAIR_MARK },
	{ "drafts", FIND_DRAFT, REPAIR_DRAFT },
	{ "extended attributes", FIND_XATTR, REPAIR_XATTR },
	{ "blocks", FIND_BLOCK, REPAIR_BLOCK },
	{ "first blocks", FIND_FIRST, REPAIR_FIRST },
	{ "names", FIND_NAME, REPAIR_NAME },
	{ "directories of names", FIND_PARENT, REPAIR_PARENT },
	{ "inodes of names", FIND_NAMED, REPAIR_NAMED },
	{ "names of directories", FIND_SECOND, REPAIR_SECOND },
	{ "lost names", FIND_NAMELESS, REPAIR_NAMELESS, .lost = true },
	{ "circles of directories", FIND_CIRCLE, REPAIR_CIRCLE, .lost = true },
	{ "links of files", FIND_LINKS, REPAIR_LINKS },
	{ "links of directories", FIND_DIR_LINKS, REPAIR_DIR_LINKS },
	{ "parents of directories", FIND_DIR_PARENT, REPAIR_DIR_PARENT },
	{ "parents of files", FIND_NO_PARENT, REPAIR_NO_PARENT },
	{ "tombstones", FIND_TOMBSTONE, REPAIR_TOMBSTONE },
	{ "the ledger", FIND_LEDGER, REPAIR_LEDGER },
	{ "the next inode", FIND_NEXT_INO, REPAIR_NEXT_INO },
	{ "the age clock", FIND_AGE, REPAIR_AGE },
	{ "the next chunk", FIND_NEXT_CHUNK, REPAIR_NEXT_CHUNK },
	{ "lost blocks", FIND_LOST, REPAIR_LOST },
	{ "hashes of files", FIND_SHA, REPAIR_SHA },
	{ "unused chunks", FIND_UNUSED, REPAIR_UNUSED },
	{ "bearers of chunks", FIND_BEARERS, REPAIR_BEARERS },
	{ "counts of frames", FIND_HELD, REPAIR_HELD },
	{ "charges of files", FIND_STORED, REPAIR_STORED },
	{ "places of chunks", FIND_OUTSIDE, NULL },
	{ "overlapping chunks", FIND_OVERLAP, NULL },
	{ "overlapping frames", FIND_FRAMES, NULL },
	{ "overlapping extents", FIND_EXTENTS, NULL },
	{ "frames partly in extents", FIND_PARTLY, NULL },
	{ "ends of packs", FIND_BEYOND, NULL },
};

const size_t ofs_rules_count = OFS_ARRAY_SIZE(ofs_rules);
