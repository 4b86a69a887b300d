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

/** What the map of a transaction may name: a map of `dunlin import` is right here, too. */
const MAPPABLE_FIELDS = new Set([...HISTORY_FIELDS, ...TRANSACTION_KIND.fields.keys()]);

/** `dunlin backtest`: what other ways would have recovered, from a merchant's own history. */
export const backtestCommand: Command = {
  name: "backtest",
  usage: `FILE [options]
  --report R               where the report goes (backtest.html)
  --json                   print everything as JSON, and write no report unless --report is given${CSV_FORMAT_USAGE}

  FILE has an attempt on each line, CSV with a heading or JSON, or is a JSON list of them: invoiceId, createdAt (2026-01-02T08:00:00Z, or 2026-01-02), state,
  amount (minor units) and currency; and what else is known: id (or transactionId) updatedAt customerId initiator networkDeclineCode networkAdviceCode
  paymentGatewayErrorCode paymentGatewayName paymentGatewayType declineCategory paymentMethodType cardBrand cardCountry cardFunding cardIssuer cardFingerprint
  customerTimezone; and propensity, the chance with which your system chose to try when it did, where you know it.

  Words for state, in any spelling (--states adds others, or gives one of these another meaning):
    paid                   ${stateSynonymsOf("PAID", "REFUNDED", "DISPUTED")}
    failed                 ${stateSynonymsOf("FAILED")}
    neither, passed over   ${stateSynonymsOf("PENDING", "VOIDED")}
  Checks of a card, whose amount is 0, are passed over, too.
  Records with another word, or that can't be read, are left out and told of, as are invoices whose id several customers or currencies have; a file of
  which more than 5% are such is refused. Records that repeat another one (the same id, or without ids the same in all that is read), and attempts that are
  dated in the future, are left out and told of, too. The text is UTF-8 or UTF-16.`,
  summary: "Judge ways of trying again by a merchant's own history of attempts",
  options: { report: { type: "string" }, json: { type: "boolean" }, ...CSV_FORMAT_OPTIONS },
  positionals: ["FILE"],
  examples: [
    "npx dunlin backtest attempts.csv --map invoiceId=number,state=outcome --dates dmy --decimals comma",
    "npx dunlin backtest attempts.jsonl --report 2026.html",
  ],
  async run(context, values, [path]) {
    const report = textOption(values, "report") ?? (values.json ? undefined : "backtest.html");
    const reading = parseCsvFormatOptions(values, MAPPABLE_FIELDS, TRANSACTION_STATES);
    if (report !== undefined) await ensureWritable(report);
    const result = runBacktest(
      await loadHistory(path!, reading),
      fromPretrained(await readPretrainedModel()),
      context.realNow(),
    );
    const isJudged = result.books.length > 0;
    if (report !== undefined && isJudged) await writeReport(report, buildReportHtml(result));
    if (values.json) {
      context.print(JSON.stringify(result));
      if (report !== undefined && !isJudged) context.aside.print("No report is written: there is nothing to judge.");
    } else {
      for (const line of formatBacktest(result)) context.print(line);
      if (isJudged) context.print(`\nReport: ${report}`);
    }
    return EXIT_CODES.ok;
  },
};

async function loadHistory(path: string, reading: CsvFormat): Promise<PaymentHistory> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === "ENOENT" ? "the file is not there." : error.message;
    throw new CommandFailure(`${path} can't be read: ${why}`);
  });
  try {
    const history = parseHistory(decodeText(bytes), reading);
    if (history.attempts.length > 0) return history;
    throw new TypeError("No record in it is paid or failed.");
  } catch (error) {
    if (error instanceof FileRefusedError) throw new CommandFailure(`${path}: ${error.message}.`);
    throw new CommandFailure(`${path} is no history of attempts. ${(error as Error).message}`);
  }
}

const readPretrainedModel = async () =>
  JSON.parse(await readFile(join(import.meta.dirname, "../engine/learned/prior.json"), "utf8")) as PretrainedModel;

function formatBacktest(result: BacktestResult): string[] {
  const told = leftOutText(result).flatMap(({ words, problems }) => [
    words,
    ...problems.map((problem) => `  ${problem}`),
  ]);
  const leftOut = told.length > 0 ? [...told, ""] : [];
  if (result.books.length === 0) return [...leftOut, `${noResultText(result)} No report is written.`];
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
