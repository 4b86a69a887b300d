import type { ListParams, RecoveryAction, RecoveryActionPage } from "./recovery-action.ts";
import type { Request } from "./request.ts";
import { type SyncOptions, type SyncPage, sync } from "./sync.ts";

export interface ReadOptions {
  signal?: AbortSignal | undefined;
}

/** All matching actions, read on demand: iterate over actions, or over `pages()`. */
export interface Listing extends AsyncIterable<RecoveryAction> {
  /** To resume an interrupted walk within 24 hours, pass the `nextPageToken` of the last page that arrived. */
  pages(): AsyncGenerator<RecoveryActionPage, void, undefined>;
}

export interface RecoveryActions {
  page(params?: ListParams, options?: ReadOptions): Promise<RecoveryActionPage>;
  /** Iterates over all actions, from `params.pageToken` on. */
  list(params?: ListParams, options?: ReadOptions): Listing;
  /** Iterates over actions executed since a time or an earlier sync's token, oldest first, each once. */
  sync(options?: SyncOptions): AsyncGenerator<SyncPage, void, undefined>;
}

export function createRecoveryActions(request: Request): RecoveryActions {
  async function page(params: ListParams = {}, { signal }: ReadOptions = {}) {
    const entries = Object.entries(params).filter(([, value]) => value !== undefined);
    const query = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString();
    const path = `/v1/recovery_actions${query === "" ? "" : `?${query}`}`;
    return (await request("GET", path, undefined, signal)) as unknown as RecoveryActionPage;
  }

  async function* pages(params: ListParams, options: ReadOptions | undefined) {
    let pageToken = params.pageToken;
    do {
      const next = await page(pageToken ? { ...params, pageToken } : params, options);
      yield next;
      pageToken = next.nextPageToken;
    } while (pageToken);
  }

  return {
    page,
    list: (params = {}, options) => ({
      pages: () => pages(params, options),
      async *[Symbol.asyncIterator]() {
        for await (const { recoveryActions } of pages(params, options)) yield* recoveryActions;
      },
    }),
    sync: (options) => sync(page, options),
  };
}
