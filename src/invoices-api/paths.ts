const INVOICE_REQUESTS = ["stop", "retryNow", "postpone"] as const;
export type InvoiceRequestName = (typeof INVOICE_REQUESTS)[number];

/** As documented, and as routes. An id may contain a colon; the last one precedes the name. */
export const requestPath = (name: InvoiceRequestName) => `/v1/invoices/{invoiceId}:${name}`;
export const requestRoute = (name: InvoiceRequestName) => `/v1/invoices/:invoiceId(.+)::${name}`;
export const EXPLANATION_PATH = "/v1/invoices/{invoiceId}/explanation";
export const EXPLANATION_ROUTE = "/v1/invoices/:invoiceId/explanation";

const REQUEST_PATTERN = new RegExp(`^/v1/invoices/[^/]+:(${INVOICE_REQUESTS.join("|")})$`);
const EXPLANATION_PATTERN = /^\/v1\/invoices\/[^/]+\/explanation$/;

/** Returns the route to which a path belongs; null for other paths. */
export function invoiceRouteOf(path: string): string | null {
  if (EXPLANATION_PATTERN.test(path)) return EXPLANATION_ROUTE;
  const [, name] = REQUEST_PATTERN.exec(path) ?? [];
  return name === undefined ? null : requestRoute(name as InvoiceRequestName);
}
