import { DunlinError } from "./dunlin-error.ts";
import type { ListParams, RecoveryAction, RecoveryActionPage } from "./recovery-action.ts";

type Filters = Omit<ListParams, "orderBy" | "orderDirection" | "executedAfter" | "executedBefore" | "pageToken">;

export interface SyncOptions extends Filters {
  /** A moment, inclusive, or the token of an earlier sync with the same filters; everything unless given. */
  since?: string | Date | undefined;
  /** The last moment, inclusive; up to the present unless given. */
  until?: string | Date | undefined;
  signal?: AbortSignal | undefined;
}

/** To be stored together, in one transaction: then a copy that is killed anywhere goes on where it stopped. */
export interface SyncPage {
  /** Oldest first by `executedAt`; never empty. */
  recoveryActions: RecoveryAction[];
  /** What to hand to the next sync as `since`, now or years later. */
  token: string;
}

type ReadPage = (params: ListParams, options: { signal: AbortSignal | undefined }) => Promise<RecoveryActionPage>;

/** The last action that was handed out. Of one moment, actions come in the order of their ids. */
interface Cursor {
  at: string | undefined;
  id: string;
}

/**
 * Walks over executed actions, oldest first, and ends when there are no more.
 *
 * Within a walk Dunlin's page token leads; from one to the next it is `executedAfter`, which is inclusive, so what was
 * handed out at that very moment is skipped by its id. Dunlin commits executions in the order of `executedAt`, so nothing
 * turns up later behind the cursor.
 */
export async function* sync(
  readPage: ReadPage,
  { since, until, signal, ...filters }: SyncOptions = {},
): AsyncGenerator<SyncPage, void, undefined> {
  let cursor = cursorSince(since);
  let walk = walkFrom(cursor);
  let begunAnewAt: string | undefined;
  for (let pageToken: string | undefined; ; ) {
    const page = await readPage(pageToken ? { ...walk, pageToken } : walk, { signal }).catch((error: unknown) => {
      // A page token lives for a day, and whoever stores the pages may take longer.
      const stale = pageToken && error instanceof DunlinError && error.code === 400 && begunAnewAt !== cursor.id;
      if (!stale) throw error;
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
      begunAnewAt = cursor.id;
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

/** @throws TypeError when it is neither a moment nor a token */
function cursorSince(since: string | Date | undefined): Cursor {
  if (since === undefined) return { at: undefined, id: "" };
  const [at, id = "", ...more] = toTimestamp(since).split("/");
  if (!at || more.length > 0 || Number.isNaN(Date.parse(at)))
    throw new TypeError(`since must be a moment or the token of a sync, not "${since}"`);
  // As Dunlin writes moments, so that they compare as texts.
  return { at: new Date(at).toISOString(), id };
}

const isAfter = ({ executedAt = "", id }: RecoveryAction, { at = "", id: lastId }: Cursor) =>
  executedAt > at || (executedAt === at && id > lastId);
