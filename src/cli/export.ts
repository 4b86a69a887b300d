import { basename } from "node:path";
import { COMMAND_LINE } from "../domain/person.ts";
import { EXPORT_NAMES, EXPORTS } from "../history/exports.ts";
import { audit } from "../store/audit-log.ts";
import { findMerchant } from "../store/merchants.ts";
import { type Command, EXIT, Failure, UsageError, withDatabase } from "./command.ts";
import { growingLine } from "./growing-line.ts";
import { asOption, merchantOption, rowsWords } from "./import.ts";
import { fileSink, outputSink } from "./sink.ts";

const OUTPUT = "-";

/** `dunlin export`: what is stored of a merchant, into a file that `dunlin import` takes, or that other programs read. */
export const exportHistory: Command = {
  name: "export",
  usage: `FILE --merchant M --as ${EXPORT_NAMES.join("|")} [--force]
  FILE          JSONL (.jsonl, .ndjson) with a record in each line; - is standard output
  --as          subscriptions, invoices and transactions as the API and "npx dunlin import" take them, actions as the API
                lists them, decisions as "npx dunlin explain --json" shows them, each with its invoiceId
  --force       replaces a file that is there already`,
  summary: "Export subscriptions, invoices, transactions, recovery actions or decisions to a file",
  options: { merchant: { type: "string" }, as: { type: "string" }, force: { type: "boolean" } },
  positionals: ["FILE"],
  examples: [
    "npx dunlin export invoices.jsonl --merchant 0198… --as invoices",
    "npx dunlin export - --merchant 0198… --as actions | gzip > actions.jsonl.gz",
  ],
  async run(context, values, [file]) {
    const merchantId = merchantOption(values);
    const name = asOption(values, EXPORT_NAMES);
    if (file !== OUTPUT && !/\.(jsonl|ndjson)$/i.test(file!))
      throw new UsageError(`FILE is JSONL, with a name that ends in .jsonl, or "${OUTPUT}" for standard output.`);
    const lines = file === OUTPUT ? context.aside : context;
    let isStopped = false;
    context.stopped.then(() => {
      isStopped = true;
    });
    return withDatabase(context, async ({ db, walled, ports }) => {
      if (!(await findMerchant(db, merchantId))) throw new Failure(`there is no merchant ${merchantId}`);
      const sink =
        file === OUTPUT
          ? outputSink(context.output)
          : await fileSink(file!, values.force === true, context.randomBytes);
      const show = growingLine(lines);
      let rows = 0;
      try {
        // Before anything leaves: one that is broken off is in the log, too.
        const exported = { deed: "export.made", object: name, details: { file: basename(sink.name) } };
        await audit(db, merchantId, COMMAND_LINE, exported, ports);
        for await (const page of EXPORTS[name](walled.of(merchantId), merchantId)) {
          if (isStopped) throw new Failure(`stopped after ${rowsWords(rows)}, before ${sink.name} was whole`);
          await sink.write(page.map((row) => `${JSON.stringify(row)}\n`).join(""));
          rows += page.length;
          show(`${rowsWords(rows)} so far`);
        }
        await sink.finish();
      } catch (error) {
        await sink.abandon();
        throw error;
      }
      lines.print(`${rowsWords(rows)} exported`);
      return EXIT.ok;
    });
  },
};
