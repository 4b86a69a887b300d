import { prepared, type Tx } from "../postgres/database.ts";

/** A logged warning or error. */
export interface StoredProblem {
  name: string;
  /** Since the process started. */
  count: number;
  /** ISO 8601, real time. */
  last: string;
  why: string;
}

/** Times are real. */
export interface ProcessRow {
  id: string;
  host: string;
  pid: number;
  version: string;
  roles: string[];
  startedAt: Date;
  seenAt: Date;
  troubles: StoredProblem[];
}

const COLUMNS = `id, host, pid, version, roles, started_at as "startedAt", seen_at as "seenAt", troubles`;

const UPSERT_HEARTBEAT = prepared(
  "beat_process",
  `insert into processes (id, host, pid, version, roles, started_at, seen_at, troubles)
   values ($1, $2, $3, $4, $5, $6, $7, $8)
   on conflict (id) do update set seen_at = excluded.seen_at, troubles = excluded.troubles`,
);

export async function writeHeartbeat(tx: Tx, row: ProcessRow): Promise<void> {
  const { id, host, pid, version, roles, startedAt, seenAt, troubles } = row;
  await tx.run(UPSERT_HEARTBEAT, [id, host, pid, version, roles, startedAt, seenAt, JSON.stringify(troubles)]);
}

const LIST = prepared("list_processes", `select ${COLUMNS} from processes order by started_at, id`);

/** Oldest first. */
export const listProcesses = async (tx: Tx): Promise<ProcessRow[]> => (await tx.run<ProcessRow>(LIST)).rows;

const DELETE_PROCESSES = prepared("forget_processes", "delete from processes where id = $1 or seen_at < $2");

/** Also deletes all last seen before `before`. */
export async function deleteProcesses(tx: Tx, id: string | null, before: Date): Promise<void> {
  await tx.run(DELETE_PROCESSES, [id, before]);
}
