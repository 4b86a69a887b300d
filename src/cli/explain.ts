import { buildExplanation } from "../explain/answers.ts";
import { buildSummary } from "../explain/invoice-summary.ts";
import { loadExplainedCase as explainInvoice } from "../explain/load-explained-case.ts";
import { type Command, CommandFailure, EXIT_CODES, withDatabase } from "./command.ts";
import { resolveMerchantByInvoice } from "./resolve-merchant.ts";

export const explain: Command = {
  name: "explain",
  usage: `INVOICE [--merchant M] [--json]
  --merchant M   the invoice's merchant; not needed if only one merchant has such an invoice
  --json         the summary, all answers, and the decisions with their facts`,
  summary: "Explain an invoice: its state in three lines, then each decision with rules, alternatives and changes",
  options: { merchant: { type: "string" }, json: { type: "boolean" } },
  positionals: ["INVOICE"],
  examples: ["npx dunlin explain inv_1", "npx dunlin explain inv_1 --json"],
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
      for (const line of buildSummary(explained)) context.print(line);
      context.print("");
      for (const { question, answer } of answers.filter(({ applies }) => applies)) {
        context.print(question);
        for (const line of answer) context.print(`  ${line}`);
      }
      return EXIT_CODES.ok;
    });
  },
};
