/** An error as Stripe's API answers it. */
export class StripeApiError extends Error {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;

  constructor(status: number, body: Readonly<Record<string, unknown>> & { type: string; message: string }) {
    super(body.message);
    this.status = status;
    this.body = body;
  }
}

export const invalidRequest = (message: string, extra: Record<string, unknown> = {}, status = 400) =>
  new StripeApiError(status, { type: "invalid_request_error", message, ...extra });

export const missingObject = (kind: string, id: string) =>
  invalidRequest(`No such ${kind}: '${id}'`, { code: "resource_missing", param: "id" }, 404);
