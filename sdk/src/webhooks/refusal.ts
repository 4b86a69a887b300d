import type { WebhookErrorReply } from "./bodies.ts";

/** The endpoint refuses events with no other status. */
export interface Refusal {
  status: 400 | 401 | 429 | 500;
  message: string;
  headers?: Record<string, string>;
}

const ERROR_CODES = {
  400: "invalid_request",
  401: "unauthorized",
  429: "rate_limit_exceeded",
  500: "server_error",
} as const;

export const refusalResponse = ({ status, message, headers = {} }: Refusal): Response =>
  Response.json({ success: false, error_code: ERROR_CODES[status], message } satisfies WebhookErrorReply, {
    status,
    headers,
  });
