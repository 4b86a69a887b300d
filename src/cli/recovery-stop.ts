import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { stopRecovery } from "../merchants/stop-recovery.ts";
import { type ChannelMessage, notify, withdrawnMessages } from "../postgres/notifications.ts";
import { type Command, CommandFailure, EXIT_CODES, textOption, withDatabase } from "./command.ts";
import { resolveMerchantByInvoice } from "./resolve-merchant.ts";

/** `dunlin recovery stop`: no more of one invoice. */
export const recoveryStop: Command = {
  name: "recovery stop",
  usage: `INVOICE [--merchant M] [--reason R] [--json]
  --merchant M   whose; not needed when only one merchant has such an invoice
  --reason R     for the audit log`,
  summary: "End the recovery of an invoice for good: complete_dunning goes out, and what was not delivered goes back",
  options: { merchant: { type: "string" }, reason: { type: "string" }, json: { type: "boolean" } },
  positionals: ["INVOICE"],
  examples: ['npx dunlin recovery stop inv_1 --reason "the customer complained"'],
  async run(context, values, [invoiceId]) {
    return withDatabase(context, async ({ db, ports }) => {
      const merchantId = await resolveMerchantByInvoice(db, values, invoiceId!);
      const notes: ChannelMessage[] = [];
      const stopping = {
        ...{ db, ports, log: context.log },
        // The service may have read them ahead, or look for more only in a while.
        onWithdrawn: (...withdrawn: Parameters<typeof withdrawnMessages>) =>
          void notes.push(...withdrawnMessages(...withdrawn)),
        onEvents: () => void notes.push({ channel: "events", payload: merchantId }),
      };
      const wish = { invoiceId: invoiceId!, actor: COMMAND_LINE_ACTOR, reason: textOption(values, "reason") };
      const done = await stopRecovery(stopping, merchantId, wish);
      if (notes.length > 0) await notify(db, notes);
      if (done === null) throw new CommandFailure(`There is no invoice ${invoiceId}.`);
      if (typeof done === "string") throw new CommandFailure(done);
      if (values.json) context.print(JSON.stringify(done));
      else
        context.print(
          `The recovery of ${invoiceId} is stopped. ${done.eventId === null ? "No endpoint is set, so nobody is told." : `complete_dunning goes out as ${done.eventId}.`}`,
        );
      return EXIT_CODES.ok;
    });
  },
};
