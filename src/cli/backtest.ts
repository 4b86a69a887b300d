import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { HISTORY_FIELDS } from "../backtest/attempt-versions.ts";
import { type BacktestResult, runBacktest } from "../backtest/backtest.ts";
import { decodeText } from "../backtest/decode-text.ts";
import { type PaymentHistory, parseHistory } from "../backtest/parse-history.ts";
import { buildReportHtml } from "../backtest/report-html.ts";
import {
  assumptionsText,
  currencySummaryText,
  leftOutText,
  noResultText,
  strategiesText,
} from "../backtest/wording.ts";
import type { CsvFormat } from "../domain/csv-format.ts";
import { FileRefusedError } from "../domain/file-refused-error.ts";
import { TRANSACTION_STATE_SYNONYMS, TRANSACTION_STATES, type TransactionState } from "../domain/transaction.ts";
import { fromPretrained, type PretrainedModel } from "../engine/learned/pretrained-model.ts";
import { TRANSACTION_KIND } from "../ingest/transaction-record.ts";
import { type Command, CommandFailure, EXIT_CODES, textOption } from "./command.ts";
import { CSV_FORMAT_OPTIONS, CSV_FORMAT_USAGE, parseCsvFormatOptions } from "./csv-format-options.ts";
import { ensureWritable, writeReport } from "./report-file.ts";

const stateSynonymsOf = (...states: TransactionState[]) =>
  states.flatMap((state) => [state, ...TRANSACTION_STATE_SYNONYMS[state]]).join(" ");

/** A map written for `dunlin import` is accepted too. */
const MAPPABLE_FIELDS = new Set([...HISTORY_FIELDS, ...TRANSACTION_KIND.fields.keys()]);

export const backtestCommand: Command = {
  name: "backtest",
  usage: `FILE [options]
  --report R               file for the HTML report (backtest.html)
  --json                   print the result as JSON; a report is written only with --report${CSV_FORMAT_USAGE}

  FILE holds payment attempts: CSV with a header line, one JSON object per line, or a JSON list. Text is UTF-8 or UTF-16.
  Required fields: invoiceId, createdAt (2026-01-02T08:00:00Z or 2026-01-02), state, amount (minor units) and currency.
  Optional fields: id (or transactionId) updatedAt customerId initiator networkDeclineCode networkAdviceCode paymentGatewayErrorCode paymentGatewayName
  paymentGatewayType declineCategory paymentMethodType cardBrand cardCountry cardFunding cardIssuer cardFingerprint customerTimezone; and propensity, the
  probability with which your system chose the time of this attempt.

  Words for state, in any spelling (--states adds words or changes their meaning):
    paid                   ${stateSynonymsOf("PAID", "REFUNDED", "DISPUTED")}
    failed                 ${stateSynonymsOf("FAILED")}
    ignored                ${stateSynonymsOf("PENDING", "VOIDED")}
  Card checks, whose amount is 0, are ignored too.

  These records are left out and reported:
  - records that cannot be read, or whose state is unknown, and invoices whose id belongs to several customers or currencies; if they are more than 5% of the
    file, it is refused
  - duplicates: records with the same id, or without ids the same value in every field that is read
  - attempts dated in the future`,
  summary: "Compare retry strategies on a merchant's own history of attempts",
  options: { report: { type: "string" }, json: { type: "boolean" }, ...CSV_FORMAT_OPTIONS },
  positionals: ["FILE"],
  examples: [
    "npx dunlin backtest attempts.csv --map invoiceId=number,state=outcome --dates dmy --decimals comma",
    "npx dunlin backtest attempts.jsonl --report 2026.html",
  ],
  async run(context, values, [path]) {
    const report = textOption(values, "report") ?? (values.json ? undefined : "backtest.html");
    const csvFormat = parseCsvFormatOptions(values, MAPPABLE_FIELDS, TRANSACTION_STATES);
    if (report !== undefined) await ensureWritable(report);
    const result = runBacktest(
      await loadHistory(path!, csvFormat),
      fromPretrained(await readPretrainedModel()),
      context.realNow(),
    );
    const isJudged = result.books.length > 0;
    if (report !== undefined && isJudged) await writeReport(report, buildReportHtml(result));
    if (values.json) {
      context.print(JSON.stringify(result));
      if (report !== undefined && !isJudged)
        context.stderr.print("No report was written, because no invoice can be judged.");
    } else {
      for (const line of formatBacktest(result)) context.print(line);
      if (isJudged) context.print(`\nReport: ${report}`);
    }
    return EXIT_CODES.ok;
  },
};

async function loadHistory(path: string, csvFormat: CsvFormat): Promise<PaymentHistory> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === "ENOENT" ? "the file does not exist." : error.message;
    throw new CommandFailure(`Cannot read ${path}: ${why}`);
  });
  try {
    const history = parseHistory(decodeText(bytes), csvFormat);
    if (history.attempts.length > 0) return history;
    throw new TypeError("No record is paid or failed.");
  } catch (error) {
    if (error instanceof FileRefusedError) throw new CommandFailure(`${path}: ${error.message}.`);
    throw new CommandFailure(`${path} is not a history of payment attempts. ${(error as Error).message}`);
  }
}

const readPretrainedModel = async () =>
  JSON.parse(await readFile(join(import.meta.dirname, "../engine/learned/prior.json"), "utf8")) as PretrainedModel;

function formatBacktest(result: BacktestResult): string[] {
  const lines = leftOutText(result).flatMap(({ words, problems }) => [
    words,
    ...problems.map((problem) => `  ${problem}`),
  ]);
  const leftOut = lines.length > 0 ? [...lines, ""] : [];
  if (result.books.length === 0) return [...leftOut, `${noResultText(result)} No report was written.`];
  return [
    ...leftOut,
    ...result.books.flatMap((book) => [
      currencySummaryText(book),
      ...strategiesText(book).map((words) => `  ${words}`),
      "",
    ]),
    ...assumptionsText(result).map((words) => `- ${words}`),
  ];
}
