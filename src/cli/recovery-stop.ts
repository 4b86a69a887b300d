import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { stopRecovery } from "../merchants/recovery-requests.ts";
import { type ChannelMessage, notify, withdrawnMessages } from "../postgres/notifications.ts";
import { type Command, CommandFailure, EXIT_CODES, textOption, withDatabase } from "./command.ts";
import { resolveMerchantByInvoice } from "./resolve-merchant.ts";

export const recoveryStop: Command = {
  name: "recovery stop",
  usage: `INVOICE [--merchant M] [--reason R] [--json]
  --merchant M   the invoice's merchant; not needed if only one merchant has such an invoice
  --reason R     for the audit log`,
  summary: "Stop the recovery of an invoice for good: send complete_dunning, and withdraw undelivered events",
  options: { merchant: { type: "string" }, reason: { type: "string" }, json: { type: "boolean" } },
  positionals: ["INVOICE"],
  examples: ['npx dunlin recovery stop inv_1 --reason "the customer complained"'],
  async run(context, values, [invoiceId]) {
    return withDatabase(context, async ({ db, ports }) => {
      const merchantId = await resolveMerchantByInvoice(db, values, invoiceId!);
      const messages: ChannelMessage[] = [];
      const stopping = {
        ...{ db, ports, log: context.log },
        // The service may already have read these events, and polls for new ones only now and then.
        onWithdrawn: (...withdrawn: Parameters<typeof withdrawnMessages>) =>
          void messages.push(...withdrawnMessages(...withdrawn)),
        onEvents: () => void messages.push({ channel: "events", payload: merchantId }),
      };
      const request = { invoiceId: invoiceId!, actor: COMMAND_LINE_ACTOR, reason: textOption(values, "reason") };
      const result = await stopRecovery(stopping, merchantId, request);
      if (messages.length > 0) await notify(db, messages);
      if (result === null) throw new CommandFailure(`There is no invoice ${invoiceId}.`);
      if (typeof result === "string") throw new CommandFailure(result);
      if (values.json) context.print(JSON.stringify(result));
      else
        context.print(
          `Stopped the recovery of ${invoiceId}. ${result.eventId === null ? "No webhook was sent, because the merchant has no endpoint." : `Event ${result.eventId} (complete_dunning) is being sent.`}`,
        );
      return EXIT_CODES.ok;
    });
  },
};
