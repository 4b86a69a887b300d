import type {
  Explanation,
  PostponeBody,
  PostponeReply,
  ReasonBody,
  RetryNowReply,
  StopReply,
} from "./invoice-requests.ts";
import type { ReadOptions } from "./recovery-actions.ts";
import type { Request } from "./request.ts";

/**
 * Requests about an invoice in recovery. Each rejects with a `DunlinError` of code 404 for an unknown invoice, and of code 409, with
 * the reason as its message, if it is not possible now.
 */
export interface Invoices {
  /** Ends the recovery for good. */
  stop(invoiceId: string, body?: ReasonBody, options?: ReadOptions): Promise<StopReply>;
  /** Requests a retry at once, unless a rule forbids it. */
  retryNow(invoiceId: string, body?: ReasonBody, options?: ReadOptions): Promise<RetryNowReply>;
  /** Requests no retry before a time within the recovery window. */
  postpone(invoiceId: string, body: PostponeBody, options?: ReadOptions): Promise<PostponeReply>;
  /** Returns what `dunlin explain` prints. */
  explain(invoiceId: string, options?: ReadOptions): Promise<Explanation>;
}

export function createInvoices(request: Request): Invoices {
  const pathOf = (invoiceId: string) => `/v1/invoices/${encodeURIComponent(invoiceId)}`;
  const post =
    <Body extends object, Reply>(name: string) =>
    async (invoiceId: string, body: Body, { signal }: ReadOptions = {}) =>
      (await request("POST", `${pathOf(invoiceId)}:${name}`, JSON.stringify(body), signal)) as unknown as Reply;
  const stop = post<ReasonBody, StopReply>("stop");
  const retryNow = post<ReasonBody, RetryNowReply>("retryNow");
  return {
    stop: (invoiceId, body = {}, options) => stop(invoiceId, body, options),
    retryNow: (invoiceId, body = {}, options) => retryNow(invoiceId, body, options),
    postpone: post<PostponeBody, PostponeReply>("postpone"),
    explain: async (invoiceId, { signal } = {}) =>
      (await request("GET", `${pathOf(invoiceId)}/explanation`, undefined, signal)) as unknown as Explanation,
  };
}
