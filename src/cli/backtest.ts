import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { TRANSACTIONS } from "../api/ingest/transaction.ts";
import { type History, readHistory } from "../backtest/attempts.ts";
import { type Backtest, backtest } from "../backtest/backtest.ts";
import { FIELDS } from "../backtest/copies.ts";
import { reportHtml } from "../backtest/report.ts";
import { textOf } from "../backtest/text.ts";
import { assumptions, bookWords, leftOutWords, nothingWords, waysWords } from "../backtest/words.ts";
import { FileRefused } from "../domain/file-refused.ts";
import type { Reading } from "../domain/reading.ts";
import { STATE_WORDS, TRANSACTION_STATES, type TransactionState } from "../domain/transaction.ts";
import { fromPrior, type Prior } from "../model/prior.ts";
import { type Command, EXIT, Failure, text } from "./command.ts";
import { READING_OPTIONS, READING_USAGE, readingOption } from "./reading-options.ts";
import { ensureWritable, writeReport } from "./report-file.ts";

const wordsOf = (...states: TransactionState[]) => states.flatMap((state) => [state, ...STATE_WORDS[state]]).join(" ");

/** What the map of a transaction may name: a map of `dunlin import` is right here, too. */
const MAPPED = new Set([...FIELDS, ...TRANSACTIONS.fields.keys()]);

/** `dunlin backtest`: what other ways would have recovered, from a merchant's own history. */
export const backtestCommand: Command = {
  name: "backtest",
  usage: `FILE [options]
  --report R               where the report goes (backtest.html)
  --json                   print everything as JSON, and write no report unless --report is given${READING_USAGE}

  FILE has an attempt on each line, CSV with a heading or JSON, or is a JSON list of them: invoiceId, createdAt (2026-01-02T08:00:00Z, or 2026-01-02), state,
  amount (minor units) and currency; and what else is known: id (or transactionId) updatedAt customerId initiator networkDeclineCode networkAdviceCode
  paymentGatewayErrorCode paymentGatewayName paymentGatewayType declineCategory paymentMethodType cardBrand cardCountry cardFunding cardIssuer cardFingerprint
  customerTimezone; and propensity, the chance with which your system chose to try when it did, where you know it.

  Words for state, in any spelling (--states adds others, or gives one of these another meaning):
    paid                   ${wordsOf("PAID", "REFUNDED", "DISPUTED")}
    failed                 ${wordsOf("FAILED")}
    neither, passed over   ${wordsOf("PENDING", "VOIDED")}
  Checks of a card, whose amount is 0, are passed over, too.
  Records with another word, or that can't be read, are left out and told of, as are invoices whose id several customers or currencies have; a file of
  which more than 5% are such is refused. Records that repeat another one (the same id, or without ids the same in all that is read), and attempts that are
  dated in the future, are left out and told of, too. The text is UTF-8 or UTF-16.`,
  summary: "Judge ways of trying again by a merchant's own history of attempts",
  options: { report: { type: "string" }, json: { type: "boolean" }, ...READING_OPTIONS },
  positionals: ["FILE"],
  examples: [
    "npx dunlin backtest attempts.csv --map invoiceId=number,state=outcome --dates dmy --decimals comma",
    "npx dunlin backtest attempts.jsonl --report 2026.html",
  ],
  async run(context, values, [path]) {
    const report = text(values, "report") ?? (values.json ? undefined : "backtest.html");
    const reading = readingOption(values, MAPPED, TRANSACTION_STATES);
    if (report !== undefined) await ensureWritable(report);
    const result = backtest(await historyFrom(path!, reading), fromPrior(await shippedPrior()), context.realNow());
    const isJudged = result.books.length > 0;
    if (report !== undefined && isJudged) await writeReport(report, reportHtml(result));
    if (values.json) {
      context.print(JSON.stringify(result));
      if (report !== undefined && !isJudged) context.aside.print("No report is written: there is nothing to judge.");
    } else {
      for (const line of lines(result)) context.print(line);
      if (isJudged) context.print(`\nReport: ${report}`);
    }
    return EXIT.ok;
  },
};

async function historyFrom(path: string, reading: Reading): Promise<History> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === "ENOENT" ? "the file is not there." : error.message;
    throw new Failure(`${path} can't be read: ${why}`);
  });
  try {
    const history = readHistory(textOf(bytes), reading);
    if (history.attempts.length > 0) return history;
    throw new TypeError("No record in it is paid or failed.");
  } catch (error) {
    if (error instanceof FileRefused) throw new Failure(`${path}: ${error.message}.`);
    throw new Failure(`${path} is no history of attempts. ${(error as Error).message}`);
  }
}

const shippedPrior = async () =>
  JSON.parse(await readFile(join(import.meta.dirname, "../model/prior.json"), "utf8")) as Prior;

function lines(result: Backtest): string[] {
  const told = leftOutWords(result).flatMap(({ words, problems }) => [
    words,
    ...problems.map((problem) => `  ${problem}`),
  ]);
  const leftOut = told.length > 0 ? [...told, ""] : [];
  if (result.books.length === 0) return [...leftOut, `${nothingWords(result)} No report is written.`];
  return [
    ...leftOut,
    ...result.books.flatMap((book) => [bookWords(book), ...waysWords(book).map((words) => `  ${words}`), ""]),
    ...assumptions(result).map((words) => `- ${words}`),
  ];
}
