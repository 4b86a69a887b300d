import { DAY_MS } from "../domain/durations.ts";
import { ruleCodeOf } from "../engine/rules/gateway-codes.ts";
import { isCard } from "../engine/rules/instrument.ts";
import { type CodeField, findUnknownCodeFields } from "../engine/rules/unknown-code-fields.ts";
import type { Tx } from "../postgres/database.ts";
import { declineCodesOf, instrumentOf } from "../recovery/build-decision-facts.ts";
import { countDeclineCodes, type DeclineCodeCount } from "../tables/decline-code-counts.ts";

/** Older codes may come from a gateway that the merchant no longer uses. */
export const UNKNOWN_CODES_DAYS = 90;

/** A decline reason that no code table contains. */
export interface UnknownCode {
  /** null: the gateway is not named. */
  gateway: string | null;
  /** As pushed. */
  code: string;
  /** The section of a rules file for this code, and the code in that file. */
  part: "gatewayCodes" | "responseCodes" | "adviceCodes";
  key: string;
  declines: number;
  lastAt: Date;
}

/** Returns the unknown codes of recent declines, the most frequent first. */
export async function findUnknownCodes(tx: Tx, merchantId: string, now: Date): Promise<UnknownCode[]> {
  const since = new Date(now.getTime() - UNKNOWN_CODES_DAYS * DAY_MS);
  return groupUnknownCodes(await countDeclineCodes(tx, merchantId, since));
}

function groupUnknownCodes(rows: readonly DeclineCodeCount[]): UnknownCode[] {
  const codes = new Map<string, UnknownCode>();
  for (const row of rows)
    for (const field of findUnknownCodeFields(declineCodesOf(row), instrumentOf(row))) {
      const code = pushedCodeOf(row, field).trim();
      const gateway = row.paymentGatewayName ?? row.paymentGatewayType ?? null;
      const part = rulePartOf(field, row);
      const groupKey = JSON.stringify([gateway, part, code]);
      const existing = codes.get(groupKey);
      if (existing) {
        existing.declines += row.declines;
        if (row.lastAt > existing.lastAt) existing.lastAt = row.lastAt;
        continue;
      }
      const key = part === "gatewayCodes" ? ruleCodeOf(code, row.paymentGatewayName, row.paymentGatewayType) : code;
      codes.set(groupKey, { gateway, code, part, key, declines: row.declines, lastAt: row.lastAt });
    }
  return [...codes.values()].sort((a, b) => b.declines - a.declines || b.lastAt.getTime() - a.lastAt.getTime());
}

const pushedCodeOf = (row: DeclineCodeCount, field: CodeField): string =>
  (field === "gatewayCode" ? row.paymentGatewayErrorCode : row[field])!;

/** A response code has one to four characters. A longer code in the network's field belongs to the gateway. */
function rulePartOf(field: CodeField, row: DeclineCodeCount): UnknownCode["part"] {
  if (field === "networkAdviceCode") return "adviceCodes";
  const isResponse =
    field === "networkDeclineCode" && isCard(instrumentOf(row)) && /^\s*\w{1,4}\s*$/.test(pushedCodeOf(row, field));
  return isResponse ? "responseCodes" : "gatewayCodes";
}
