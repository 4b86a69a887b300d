import { explain as explainInvoice } from "../recovery/explain.ts";
import { explanationOf } from "../recovery/explanation.ts";
import { summaryOf } from "../recovery/summary.ts";
import { type Command, EXIT, Failure, withDatabase } from "./command.ts";
import { merchantWithInvoice } from "./whose.ts";

/** `dunlin explain`: why an invoice is treated as it is. */
export const explain: Command = {
  name: "explain",
  usage: `INVOICE [--merchant M] [--json]
  --merchant M   the invoice's merchant; not needed if only one merchant has such an invoice
  --json         the summary, all answers, and the decisions with their facts`,
  summary:
    "Say in three lines where an invoice stands, then what was decided and why: rules, alternatives, what changed",
  options: { merchant: { type: "string" }, json: { type: "boolean" } },
  positionals: ["INVOICE"],
  examples: ["npx dunlin explain inv_1", "npx dunlin explain inv_1 --json"],
  async run(context, values, [invoiceId]) {
    return withDatabase(context, async ({ db, ports }) => {
      const merchantId = await merchantWithInvoice(db, values, invoiceId!);
      const explained = await explainInvoice(db, merchantId, invoiceId!, ports.now());
      if (!explained) throw new Failure(`There is no invoice ${invoiceId}.`);
      const answers = explanationOf(explained);
      if (values.json) {
        context.print(JSON.stringify({ summary: summaryOf(explained), answers, decisions: explained.decisions }));
        return EXIT.ok;
      }
      for (const line of summaryOf(explained)) context.print(line);
      context.print("");
      for (const { question, answer } of answers.filter(({ applies }) => applies)) {
        context.print(question);
        for (const line of answer) context.print(`  ${line}`);
      }
      return EXIT.ok;
    });
  },
};
