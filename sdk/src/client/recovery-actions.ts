import type { ListParams, RecoveryAction, RecoveryActionPage } from "./recovery-action.ts";
import type { Request } from "./request.ts";
import { type SyncOptions, type SyncPage, sync } from "./sync.ts";

export interface ReadOptions {
  signal?: AbortSignal | undefined;
}

/** All actions that match, read page by page as they are asked for: by action, or with `pages()` by page. */
export interface Listing extends AsyncIterable<RecoveryAction> {
  /** The `nextPageToken` of the last page that arrived is where a broken walk goes on, within 24 hours. */
  pages(): AsyncGenerator<RecoveryActionPage, void, undefined>;
}

export interface RecoveryActions {
  /** One page. */
  page(params?: ListParams, options?: ReadOptions): Promise<RecoveryActionPage>;
  /** Every action over all pages, from `params.pageToken` on when there is one. */
  list(params?: ListParams, options?: ReadOptions): Listing;
  /** What was executed since a moment or since a token of an earlier sync, oldest first, each action once. */
  sync(options?: SyncOptions): AsyncGenerator<SyncPage, void, undefined>;
}

export function createRecoveryActions(request: Request): RecoveryActions {
  async function page(params: ListParams = {}, { signal }: ReadOptions = {}) {
    const given = Object.entries(params).filter(([, value]) => value !== undefined);
    const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
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
