import type { FastifyRequest } from "fastify";
import type { Api } from "../http/api.ts";
import { badFieldError, LIST_PATH } from "../http/errors.ts";
import { type ListedAction, readFirstPage, readPageAfter } from "../tables/actions-list/action-list.ts";
import { toActionJson } from "./action-json.ts";
import { type ListQuery, parseListQuery, toListing } from "./list-query.ts";
import { type PageWalk, readPageToken, signPageToken } from "./page-token.ts";

export function listRecoveryActionsRoute(api: Api) {
  const onRequest = api.requires("read:recovery_actions");
  api.http.get(LIST_PATH, { onRequest, config: { family: "list" } }, async (request: FastifyRequest) => {
    const merchantId = request.caller!.merchant.id;
    const query = parseListQuery(searchOf(request.url));
    const page = await (query.pageToken === undefined
      ? firstPage(api, merchantId, query)
      : nextPage(api, merchantId, query, query.pageToken));
    request.records = page.recoveryActions.length;
    return page;
  });
}

async function firstPage(api: Api, merchantId: string, query: ListQuery) {
  const { filters, orderBy = "created_at", direction = "desc" } = query;
  const listing = toListing(filters, orderBy, direction);
  const { total, actions } = await readFirstPage(api.tenantDb.of(merchantId), merchantId, listing, query.pageSize + 1);
  return buildPage(api, merchantId, { filters, orderBy, direction, total }, actions, query.pageSize);
}

async function nextPage(api: Api, merchantId: string, query: ListQuery, token: string) {
  const walk = readPageToken(api.tokenKeys, merchantId, token, api.ports.realNow());
  if (!walk) throw badFieldError("pageToken", "is not valid or has expired: start again without it");
  refuseChangedQuery(query, walk);
  const listing = toListing(walk.filters, walk.orderBy, walk.direction);
  const actions = await readPageAfter(
    api.tenantDb.of(merchantId),
    merchantId,
    listing,
    walk.cursor,
    walk.total,
    query.pageSize + 1,
  );
  return buildPage(api, merchantId, walk, actions, query.pageSize);
}

/** Filters and order must stay those of the first page. */
function refuseChangedQuery(query: ListQuery, walk: PageWalk) {
  const rule = "must be omitted, or the same as in the request for the first page";
  for (const [name, value] of Object.entries(query.filters))
    if (walk.filters[name] !== value) throw badFieldError(name, rule);
  if (query.orderBy !== undefined && query.orderBy !== walk.orderBy) throw badFieldError("orderBy", rule);
  if (query.direction !== undefined && query.direction !== walk.direction) throw badFieldError("orderDirection", rule);
}

/** @param actions  holds one more than `pageSize` if there is another page */
function buildPage(
  api: Api,
  merchantId: string,
  walk: Omit<PageWalk, "cursor">,
  actions: ListedAction[],
  pageSize: number,
) {
  const page = actions.slice(0, pageSize);
  const last = page.at(-1);
  const hasNextPage = actions.length > pageSize && last !== undefined;
  const { filters, orderBy, direction, total } = walk;
  const nextWalk = hasNextPage && { filters, orderBy, direction, total, cursor: { at: last.cursorAt, id: last.id } };
  return {
    recoveryActions: page.map(toActionJson),
    nextPageToken: nextWalk ? signPageToken(api.tokenKeys, merchantId, nextWalk, api.ports.realNow()) : "",
    totalSize: total,
  };
}

const searchOf = (url: string) => (url.includes("?") ? url.slice(url.indexOf("?") + 1) : "");
