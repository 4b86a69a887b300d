import { setTimeout as sleepFor } from "node:timers/promises";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { deleteMerchant } from "../merchants/delete-merchant.ts";
import { findOtherListeners, notify, withdrawnMessages } from "../postgres/notifications.ts";
import { findMerchant } from "../tables/merchants.ts";
import { type Command, CommandFailure, EXIT_CODES, isUuid, textOption, withDatabase } from "./command.ts";
import { createProgressLine } from "./progress-line.ts";

/** A request may take 20 s, its key is cached for 1 s, and the request log is written 1 s later. */
const OPEN_REQUESTS_WAIT_MS = 25_000;

export const merchantDelete: Command = {
  name: "merchant delete",
  usage: `MERCHANT (--name N | --yes)
  --name N      its name, so that no other merchant is deleted by mistake
  --yes         deletes it without its name, and the rest after an interrupted deletion`,
  summary: "Delete a merchant with all its data, keys, members and settings",
  options: { name: { type: "string" }, yes: { type: "boolean" } },
  positionals: ["MERCHANT"],
  examples: ['npx dunlin merchant delete 0198… --name "Harbor Coffee"'],
  async run(context, values, [id]) {
    const unknown = () => new CommandFailure(`There is no merchant ${id}. "npx dunlin merchant list" shows them.`);
    if (!isUuid(id!)) throw unknown();
    return withDatabase(context, async ({ owner, ports }) => {
      const merchant = await findMerchant(owner, id!);
      if (merchant && values.yes !== true && textOption(values, "name") !== merchant.name)
        throw new CommandFailure(
          `Nothing was deleted. To delete ${merchant.name} and all its data for good, add --name "${merchant.name}" or --yes.`,
        );
      if (!merchant && values.yes !== true) throw unknown();
      const startedMs = context.monotonicMs();
      const show = createProgressLine(context);
      let deletedRows = 0;
      const rows = await deleteMerchant(
        {
          ...{ owner, ports, actor: COMMAND_LINE_ACTOR },
          onWithdrawn: (...withdrawn) => notify(owner, withdrawnMessages(...withdrawn)),
          onRows(count) {
            deletedRows += count;
            show(`${deletedRows.toLocaleString("en-US")} rows so far`);
          },
          async requestsEnded() {
            const remainingMs = OPEN_REQUESTS_WAIT_MS - (context.monotonicMs() - startedMs);
            if (remainingMs > 0 && (await findOtherListeners(owner)).size > 0) await sleepFor(remainingMs);
          },
        },
        id!,
      );
      if (!merchant && rows === 0) throw unknown();
      context.print(`Deleted: ${rows.toLocaleString("en-US")} rows.`);
      return EXIT_CODES.ok;
    });
  },
};
