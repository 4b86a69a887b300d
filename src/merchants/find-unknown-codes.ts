import { DAY_MS } from "../domain/durations.ts";
import { ruleCodeOf } from "../engine/rules/gateway-codes.ts";
import { isCard } from "../engine/rules/instrument.ts";
import { type CodeField, findUnknownCodeFields } from "../engine/rules/unknown-code-fields.ts";
import type { Tx } from "../postgres/database.ts";
import { declineCodesOf, instrumentOf } from "../recovery/build-decision-facts.ts";
import { countDeclineCodes, type DeclineCodeCount } from "../tables/decline-code-counts.ts";

/** Codes that were last seen longer ago are of gateways that the merchant may have left. */
export const UNKNOWN_CODES_DAYS = 90;

/** A code that declines gave as their reason, and that no table knows. */
export interface UnknownCode {
  /** What the gateway is called; null: it was not named. */
  gateway: string | null;
  /** As it was pushed. */
  code: string;
  /** The part of a file of rules that gives it a group, and the code as it stands there. */
  part: "gatewayCodes" | "responseCodes" | "adviceCodes";
  key: string;
  declines: number;
  lastAt: Date;
}

/** Returns the codes of the merchant's recent declines that no table knows, the most frequent first. */
export async function findUnknownCodes(tx: Tx, merchantId: string, now: Date): Promise<UnknownCode[]> {
  const since = new Date(now.getTime() - UNKNOWN_CODES_DAYS * DAY_MS);
  return groupUnknownCodes(await countDeclineCodes(tx, merchantId, since));
}

/** The unknown codes of these declines: a code of one gateway once, whatever stood beside it. */
function groupUnknownCodes(rows: readonly DeclineCodeCount[]): UnknownCode[] {
  const found = new Map<string, UnknownCode>();
  for (const row of rows)
    for (const field of findUnknownCodeFields(declineCodesOf(row), instrumentOf(row))) {
      const code = pushedCodeOf(row, field).trim();
      const gateway = row.paymentGatewayName ?? row.paymentGatewayType ?? null;
      const part = rulePartOf(field, row);
      const name = JSON.stringify([gateway, part, code]);
      const known = found.get(name);
      if (known) {
        known.declines += row.declines;
        if (row.lastAt > known.lastAt) known.lastAt = row.lastAt;
        continue;
      }
      const key = part === "gatewayCodes" ? ruleCodeOf(code, row.paymentGatewayName, row.paymentGatewayType) : code;
      found.set(name, { gateway, code, part, key, declines: row.declines, lastAt: row.lastAt });
    }
  return [...found.values()].sort((a, b) => b.declines - a.declines || b.lastAt.getTime() - a.lastAt.getTime());
}

const pushedCodeOf = (row: DeclineCodeCount, field: CodeField): string =>
  (field === "gatewayCode" ? row.paymentGatewayErrorCode : row[field])!;

/** A response code has one to four characters. A longer code in the network's field is a gateway's. */
function rulePartOf(field: CodeField, row: DeclineCodeCount): UnknownCode["part"] {
  if (field === "networkAdviceCode") return "adviceCodes";
  const isResponse =
    field === "networkDeclineCode" && isCard(instrumentOf(row)) && /^\s*\w{1,4}\s*$/.test(pushedCodeOf(row, field));
  return isResponse ? "responseCodes" : "gatewayCodes";
}
