import type { ActionStatus, ActionType } from "../../domain/recovery-action.ts";

// Codes in the generated column `facets`.
const TYPE_CODE: Record<ActionType, string> = { RETRY: "R", CARD_CHANGE: "C" };
const STATUS_CODE: Record<ActionStatus, string> = {
  SCHEDULED: "P",
  SENT: "T",
  SUCCEEDED: "S",
  FAILED: "F",
  EXPIRED: "E",
  CANCELED: "C",
  DELIVERY_FAILED: "D",
};

export interface Facets {
  cardCountry?: string;
  currency?: string;
  type?: ActionType;
  status?: ActionStatus;
}

/** A LIKE pattern; null if all match. */
export function facetsPattern({ cardCountry, currency, type, status }: Facets): string | null {
  const pattern = `${cardCountry ?? "__"}${currency ?? "___"}${type ? TYPE_CODE[type] : "_"}${status ? STATUS_CODE[status] : "_"}`;
  return /^_*$/.test(pattern) ? null : pattern;
}

export const wasExecutedSql = (facets: string) =>
  `right(${facets}, 1) in ('${STATUS_CODE.SUCCEEDED}', '${STATUS_CODE.FAILED}')`;

const STATUS_OF_CODE = new Map(Object.entries(STATUS_CODE).map(([status, code]) => [code, status as ActionStatus]));

/** @param code  the last character of `facets` */
export const statusOfCode = (code: string): ActionStatus => STATUS_OF_CODE.get(code)!;
