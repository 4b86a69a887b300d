import { basename } from "node:path";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { EXPORT_NAMES, PAGES_BY_EXPORT } from "../import/exports.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import { findMerchant } from "../tables/merchants.ts";
import { type Command, CommandFailure, EXIT_CODES, UsageError, withDatabase } from "./command.ts";
import { createOutputSink, openFileSink } from "./export-sink.ts";
import { formatRowCount, merchantOption, recordKindOption } from "./import.ts";
import { createProgressLine } from "./progress-line.ts";

const STDOUT_PATH = "-";

export const exportHistory: Command = {
  name: "export",
  usage: `FILE --merchant M --as ${EXPORT_NAMES.join("|")} [--force]
  FILE          JSONL file (.jsonl, .ndjson), one record per line; - is standard output
  --as          subscriptions, invoices and transactions: as the API and "npx dunlin import" accept them; actions: as the API
                lists them; decisions: as "npx dunlin explain --json" shows them, each with its invoiceId
  --force       replace an existing file`,
  summary: "Export subscriptions, invoices, transactions, recovery actions or decisions to a file",
  options: { merchant: { type: "string" }, as: { type: "string" }, force: { type: "boolean" } },
  positionals: ["FILE"],
  examples: [
    "npx dunlin export invoices.jsonl --merchant 0198… --as invoices",
    "npx dunlin export - --merchant 0198… --as actions | gzip > actions.jsonl.gz",
  ],
  async run(context, values, [file]) {
    const merchantId = merchantOption(values);
    const name = recordKindOption(values, EXPORT_NAMES);
    if (file !== STDOUT_PATH && !/\.(jsonl|ndjson)$/i.test(file!))
      throw new UsageError(`FILE must end in .jsonl or .ndjson, or be "${STDOUT_PATH}" for standard output.`);
    const messages = file === STDOUT_PATH ? context.stderr : context;
    let isStopped = false;
    context.stopped.then(() => {
      isStopped = true;
    });
    return withDatabase(context, async ({ db, tenantDb, ports }) => {
      if (!(await findMerchant(db, merchantId)))
        throw new CommandFailure(`There is no merchant ${merchantId}. "npx dunlin merchant list" shows them.`);
      const sink =
        file === STDOUT_PATH
          ? createOutputSink(context.output)
          : await openFileSink(file!, values.force === true, context.randomBytes);
      const show = createProgressLine(messages);
      let rows = 0;
      try {
        // Before the export, so that the audit log also has failed ones.
        const exported = { operation: "export.made", object: name, details: { file: basename(sink.name) } };
        await writeAuditEntry(db, merchantId, COMMAND_LINE_ACTOR, exported, ports);
        for await (const page of PAGES_BY_EXPORT[name](tenantDb.of(merchantId), merchantId)) {
          if (isStopped)
            throw new CommandFailure(`Stopped after ${formatRowCount(rows)}, before ${sink.name} was complete.`);
          await sink.write(page.map((row) => `${JSON.stringify(row)}\n`).join(""));
          rows += page.length;
          show(`${formatRowCount(rows)} so far`);
        }
        await sink.finish();
      } catch (error) {
        await sink.abandon();
        throw error;
      }
      messages.print(`Exported ${formatRowCount(rows)}.`);
      return EXIT_CODES.ok;
    });
  },
};
