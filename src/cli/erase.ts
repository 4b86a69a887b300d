import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { eraseCustomer as erase, erasedCustomerHash } from "../merchants/erase-customer.ts";
import { notify, withdrawnMessages } from "../postgres/notifications.ts";
import { countCustomerRecords } from "../tables/erasure.ts";
import { type Command, type CommandContext, CommandFailure, EXIT_CODES, withDatabase } from "./command.ts";
import { resolveMerchant } from "./resolve-merchant.ts";

export const eraseCustomer: Command = {
  name: "erase customer",
  usage: `CUSTOMER [--merchant M] [--yes]
  --merchant M  the customer's merchant; not needed if there is only one
  --yes         erases; without it the command counts the records and changes nothing`,
  summary: "Erase a customer: subscriptions, invoices, attempts, cases, decisions, actions and events",
  options: { merchant: { type: "string" }, yes: { type: "boolean" } },
  positionals: ["CUSTOMER"],
  examples: [
    "npx dunlin erase customer cus_1 --merchant 0198…",
    "npx dunlin erase customer cus_1 --merchant 0198… --yes",
  ],
  async run(context, values, [customerId]) {
    return withDatabase(context, async ({ owner, ports }) => {
      const merchantId = await resolveMerchant(owner, values);
      const counts = await countCustomerRecords(owner, merchantId, customerId!);
      printCounts(context, counts);
      if (values.yes !== true)
        throw new CommandFailure("Nothing was erased. To erase it for good, repeat the command with --yes.");
      const onWithdrawn = (...withdrawn: Parameters<typeof withdrawnMessages>) =>
        notify(owner, withdrawnMessages(...withdrawn));
      await erase({ owner, ports, actor: COMMAND_LINE_ACTOR, onWithdrawn }, merchantId, customerId!);
      context.print(`Erased. The audit log calls the customer ${erasedCustomerHash(merchantId, customerId!)}`);
      return EXIT_CODES.ok;
    });
  },
};

export function printCounts(context: CommandContext, counts: object) {
  for (const [name, count] of Object.entries(counts))
    context.print(`${String(count).padStart(9)}  ${name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`);
}
