import { buildExplanation } from "../explain/answers.ts";
import { buildSummary } from "../explain/invoice-summary.ts";
import { loadExplainedCase as explainInvoice } from "../explain/load-explained-case.ts";
import { type Command, CommandFailure, EXIT_CODES, withDatabase } from "./command.ts";
import { resolveMerchantByInvoice } from "./resolve-merchant.ts";

export const explain: Command = {
  name: "explain",
  usage: `INVOICE [--merchant M] [--all] [--json]
  --merchant M   the invoice's merchant; not needed if only one merchant has such an invoice
  --all          also hours, alternatives, evenly spaced retries, changes, input data and the model's part
  --json         the summary, all answers, and the decisions with their facts`,
  summary: "Explain an invoice: its state in three lines, its history, the reasons and the limits",
  options: { merchant: { type: "string" }, all: { type: "boolean" }, json: { type: "boolean" } },
  positionals: ["INVOICE"],
  examples: ["npx dunlin explain inv_1", "npx dunlin explain inv_1 --all", "npx dunlin explain inv_1 --json"],
  async run(context, values, [invoiceId]) {
    return withDatabase(context, async ({ db, ports }) => {
      const merchantId = await resolveMerchantByInvoice(db, values, invoiceId!);
      const explained = await explainInvoice(db, merchantId, invoiceId!, ports.now());
      if (!explained) throw new CommandFailure(`There is no invoice ${invoiceId}.`);
      const answers = buildExplanation(explained);
      if (values.json) {
        context.print(JSON.stringify({ summary: buildSummary(explained), answers, decisions: explained.decisions }));
        return EXIT_CODES.ok;
      }
      const summary = buildSummary(explained);
      for (const line of summary) context.print(line);
      context.print("");
      const shown = answers.filter(({ applies, isDetail }) => applies && (values.all || !isDetail));
      for (const { question, answer } of shown) {
        context.print(question);
        for (const line of answer) if (!summary.includes(line)) context.print(`  ${line}`);
      }
      if (!values.all && answers.some(({ applies, isDetail }) => applies && isDetail))
        context.print(
          `More: npx dunlin explain ${invoiceId} --all (hours, alternatives, input data, the model's part)`,
        );
      return EXIT_CODES.ok;
    });
  },
};
