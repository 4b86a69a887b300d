import type { DecisionRecord } from "../../domain/decision.ts";
import { casesOfInvoice } from "../../tables/cases.ts";
import { decisionsOfCase } from "../../tables/decisions.ts";
import type { Console } from "../console.ts";
import { PageError } from "../page-error.ts";
import { identifierReader, parsePageQuery } from "../page-query.ts";
import { type CsvCell, sendCsv } from "../show/csv-export.ts";
import { formatZonedIso } from "../show/time-format.ts";
import { isReadable } from "./considered-times.ts";

const QUERY_READERS = { invoiceId: identifierReader };

export function decisionRoutes({ page }: Console) {
  page("/decisions.csv", null, async ({ db, query, merchantId, person: { zone }, reply }) => {
    const { invoiceId } = parsePageQuery(query, QUERY_READERS);
    if (invoiceId === undefined) throw new PageError(400, '"invoiceId" is missing.');
    const cases = await casesOfInvoice(db, merchantId, invoiceId);
    async function* pages() {
      for (const { id } of cases)
        yield (await decisionsOfCase(db, merchantId, id)).flatMap((each) => decisionRows(each, zone));
    }
    return sendCsv(reply, "decisions.csv", HEADINGS, pages());
  });
}

const HEADINGS = [
  "case_id",
  "decision",
  "made_at_utc",
  "kind",
  "engine",
  "action_id",
  "what",
  "moment_utc",
  "moment",
  "until_utc",
  "chance",
  "worth",
  "words",
];

/** The decision first, then its alternatives. */
function decisionRows(decision: DecisionRecord, zone: string): CsvCell[][] {
  const { caseId, number, madeAt, kind, engine, actionId, idealTime, chance, account } = decision;
  const { reasons, days, hours, ruledOut, even } = account;
  const line = (
    what: string,
    at: Date | null,
    until: Date | null,
    numbers: readonly (number | null)[],
    words: string,
  ) => [
    caseId,
    number,
    madeAt.toISOString(),
    kind,
    engine,
    actionId,
    what,
    at?.toISOString() ?? null,
    at && formatZonedIso(at, zone),
    until?.toISOString() ?? null,
    numbers[0] ?? null,
    numbers[1] ?? null,
    words,
  ];
  const decided = line("decided", idealTime, null, [chance, even?.planWorth ?? null], reasons.join(" "));
  if (!isReadable(decision)) return [decided];
  return [
    decided,
    ...days.map((each) => line("best compared of its day", each.at, null, [each.chance, each.worth], "")),
    ...hours.map((each) => line("hour of the chosen day", each.at, null, [each.chance, each.worth], "")),
    ...ruledOut.map(({ from, to, rule, source }) => line("ruled out", from, to, [], `${rule} ${source}`)),
    ...(even ? even.plan.map((at) => line("try of the plan", at, null, [], "")) : []),
    ...(even ? even.tries.map((at) => line("even try", at, null, [], "")) : []),
  ];
}
