import { listAttention } from "../attention/list-attention.ts";
import { formatMoneyText } from "../domain/currency.ts";
import { type Command, EXIT_CODES, withDatabase } from "./command.ts";
import { resolveMerchant } from "./resolve-merchant.ts";

export const attention: Command = {
  name: "attention",
  usage: `[--merchant M] [--json]
  --merchant M   not needed if there is only one merchant
  --json         the list as the API returns it`,
  summary: "List what needs attention: a failing endpoint, missing pushes, recoveries that end soon and more",
  options: { merchant: { type: "string" }, json: { type: "boolean" } },
  positionals: [],
  examples: ["npx dunlin attention", "npx dunlin attention --merchant 0198… --json"],
  async run(context, values) {
    return withDatabase(context, async ({ db, tenantDb, ports }) => {
      const merchantId = await resolveMerchant(db, values);
      const items = await listAttention(tenantDb.of(merchantId), merchantId, ports.now(), ports.clockRate);
      if (values.json) context.print(JSON.stringify({ items }));
      else if (items.length === 0) context.print("Nothing needs attention.");
      else
        for (const { severity, title, detail, money } of items) {
          const sums = money.map(({ amount, currency }) => formatMoneyText(amount, currency)).join(", ");
          context.print(`${severity.padEnd(6)}  ${title}${sums === "" ? "" : ` (${sums})`}`);
          context.print(`        ${detail}`);
        }
      return EXIT_CODES.ok;
    });
  },
};
