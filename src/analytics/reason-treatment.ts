import type { DeclineGroup } from "../engine/rules/decline-groups.ts";

const ASKS_FOR_CARD =
  "Dunlin asks the customer for another card. It retries the current one only where the card network allows that.";

const RETRIES = "Dunlin retries at the times from which it expects the most.";

/** How Dunlin goes on after a decline. "" stands for no pushed decline. */
const TREATMENTS: Readonly<Record<DeclineGroup | "", string>> = {
  FUNDS: "Dunlin retries when money has most likely arrived, such as after a payday.",
  GENERIC: RETRIES,
  UNKNOWN: RETRIES,
  LIMIT: "Dunlin retries when the limit has most likely been reset, such as on the next day or in the next month.",
  ISSUER_DOWN: "Dunlin retries when the bank most likely answers again, often within a day.",
  EXPIRED:
    "Dunlin asks the customer for another card. It also retries the current one, because banks renew expired cards without notice.",
  HARD_CARD: ASKS_FOR_CARD,
  INVALID_DATA: ASKS_FOR_CARD,
  AUTH_REQUIRED: "Dunlin asks the customer for another card, because the bank wants the customer to confirm.",
  FRAUD: "Dunlin requests nothing more, because fraud is suspected.",
  REVOKED: "Dunlin requests nothing more, because the customer withdrew the permission to charge.",
  "": "Dunlin retries as if the reason were unknown. To have reasons, push payment attempts.",
};

/** Null for a value that is no decline group. */
export const reasonTreatment = (value: string): string | null =>
  Object.hasOwn(TREATMENTS, value) ? TREATMENTS[value as DeclineGroup] : null;
