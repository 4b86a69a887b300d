import { type ActionStatus, type ActionType, OPEN_ACTION_STATUSES } from "../../domain/recovery-action.ts";

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
  status?: ActionStatus | "OPEN";
}

/** LIKE patterns of which one matches: several for OPEN. Null if all match. */
export function facetsPatterns({ cardCountry, currency, type, status }: Facets): string[] | null {
  const start = `${cardCountry ?? "__"}${currency ?? "___"}${type ? TYPE_CODE[type] : "_"}`;
  if (status === undefined) return /^_*$/.test(start) ? null : [`${start}_`];
  const statuses = status === "OPEN" ? OPEN_ACTION_STATUSES : [status];
  return statuses.map((each) => start + STATUS_CODE[each]);
}

export const wasExecutedSql = (facets: string) =>
  `right(${facets}, 1) in ('${STATUS_CODE.SUCCEEDED}', '${STATUS_CODE.FAILED}')`;

export const currencySql = (facets: string) => `substr(${facets}, 3, 3)`;

/** LIKE pattern of all groups with this type and status. */
export const typeAndStatusPattern = (type: ActionType, status: ActionStatus) =>
  `%${TYPE_CODE[type]}${STATUS_CODE[status]}`;

const STATUS_OF_CODE = new Map(Object.entries(STATUS_CODE).map(([status, code]) => [code, status as ActionStatus]));

/** @param code  the last character of `facets` */
export const statusOfCode = (code: string): ActionStatus => STATUS_OF_CODE.get(code)!;
