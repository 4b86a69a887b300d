import { DunlinError } from "./dunlin-error.ts";
import type { ListParams, RecoveryAction, RecoveryActionPage } from "./recovery-action.ts";

type Filters = Omit<ListParams, "orderBy" | "orderDirection" | "executedAfter" | "executedBefore" | "pageToken">;

export interface SyncOptions extends Filters {
  /** A time (inclusive), or an earlier sync's token with the same filters. Default: everything. */
  since?: string | Date | undefined;
  /** Inclusive. Default: now. */
  until?: string | Date | undefined;
  signal?: AbortSignal | undefined;
}

/** Store both in one transaction, and a copy that is killed resumes where it stopped. */
export interface SyncPage {
  /** Oldest first by `executedAt`; never empty. */
  recoveryActions: RecoveryAction[];
  /** Pass it as `since` to the next sync, at any later time. */
  token: string;
}

type ReadPage = (params: ListParams, options: { signal: AbortSignal | undefined }) => Promise<RecoveryActionPage>;

/** The last yielded action. Equal times are ordered by id. */
interface Cursor {
  at: string | undefined;
  id: string;
}

/**
 * Walks over executed actions, oldest first, and ends after the last.
 *
 * A new walk starts with `executedAfter`, which is inclusive, so actions up to the cursor are skipped. Dunlin commits executions
 * in the order of `executedAt`, so nothing appears later behind the cursor.
 */
export async function* sync(
  readPage: ReadPage,
  { since, until, signal, ...filters }: SyncOptions = {},
): AsyncGenerator<SyncPage, void, undefined> {
  let cursor = cursorSince(since);
  let walk = walkFrom(cursor);
  let restartedAt: string | undefined;
  for (let pageToken: string | undefined; ; ) {
    const page = await readPage(pageToken ? { ...walk, pageToken } : walk, { signal }).catch((error: unknown) => {
      // A page token expires after a day, and storing the pages may take longer.
      const isExpired = pageToken && error instanceof DunlinError && error.code === 400 && restartedAt !== cursor.id;
      if (!isExpired) throw error;
      return null;
    });
    if (page) {
      const recoveryActions = page.recoveryActions.filter((action) => isAfter(action, cursor));
      const last = recoveryActions.at(-1);
      if (last) {
        cursor = { at: last.executedAt, id: last.id };
        yield { recoveryActions, token: `${cursor.at}/${cursor.id}` };
      }
      pageToken = page.nextPageToken;
      if (!pageToken) return;
    } else {
      walk = walkFrom(cursor);
      restartedAt = cursor.id;
      pageToken = undefined;
    }
  }

  function walkFrom({ at }: Cursor): ListParams {
    return {
      ...filters,
      ...(at === undefined ? {} : { executedAfter: at }),
      ...(until === undefined ? {} : { executedBefore: toTimestamp(until) }),
      orderBy: "executed_at",
      orderDirection: "asc",
    };
  }
}

const toTimestamp = (at: string | Date) => (typeof at === "string" ? at : at.toISOString());

/** @throws TypeError if it is neither a time nor a token */
function cursorSince(since: string | Date | undefined): Cursor {
  if (since === undefined) return { at: undefined, id: "" };
  const [at, id = "", ...rest] = toTimestamp(since).split("/");
  if (!at || rest.length > 0 || Number.isNaN(Date.parse(at)))
    throw new TypeError(`since must be a time or the token of a sync, not "${since}"`);
  // In Dunlin's format, so that times can be compared as texts.
  return { at: new Date(at).toISOString(), id };
}

const isAfter = ({ executedAt = "", id }: RecoveryAction, { at = "", id: lastId }: Cursor) =>
  executedAt > at || (executedAt === at && id > lastId);
