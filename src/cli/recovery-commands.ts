import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import {
  postponeRecovery,
  type RecoveryRequest,
  type RecoveryRequests,
  requestRetryNow,
  stopRecovery,
} from "../merchants/recovery-requests.ts";
import { type ChannelMessage, notify, withdrawnMessages } from "../postgres/notifications.ts";
import {
  type Command,
  type CommandContext,
  CommandFailure,
  EXIT_CODES,
  type OptionValues,
  textOption,
  timeOption,
  UsageError,
  withDatabase,
} from "./command.ts";
import { resolveMerchantByInvoice } from "./resolve-merchant.ts";

const USAGE = `
  --merchant M   the invoice's merchant; not needed if only one merchant has such an invoice
  --reason R     for the audit log`;
const OPTIONS = { merchant: { type: "string" }, reason: { type: "string" }, json: { type: "boolean" } } as const;

export const recoveryStop: Command = {
  name: "recovery stop",
  usage: `INVOICE [--merchant M] [--reason R] [--json]${USAGE}`,
  summary: "Stop the recovery of an invoice for good: send complete_dunning, and withdraw undelivered events",
  options: OPTIONS,
  positionals: ["INVOICE"],
  examples: ['npx dunlin recovery stop inv_1 --reason "the customer complained"'],
  run: (context, values, [invoiceId]) =>
    requestRecovery(
      context,
      values,
      invoiceId!,
      stopRecovery,
      ({ eventId }) =>
        `Stopped the recovery of ${invoiceId}. ${eventId === null ? "No webhook was sent, because the merchant has no endpoint." : `Event ${eventId} (complete_dunning) is being sent.`}`,
    ),
};

export const recoveryRetryNow: Command = {
  name: "recovery retry-now",
  usage: `INVOICE [--merchant M] [--reason R] [--json]${USAGE}`,
  summary: "Request a retry of an invoice at once, unless a rule forbids it",
  options: OPTIONS,
  positionals: ["INVOICE"],
  examples: ['npx dunlin recovery retry-now inv_1 --reason "the customer called"'],
  run: (context, values, [invoiceId]) =>
    requestRecovery(
      context,
      values,
      invoiceId!,
      requestRetryNow,
      ({ actionId }) => `Requested a retry of ${invoiceId}. Event ${actionId} (recovery_action) is being sent.`,
    ),
};

export const recoveryPostpone: Command = {
  name: "recovery postpone",
  usage: `INVOICE --until T [--merchant M] [--reason R] [--json]
  --until T      no retry is requested before this time, within the recovery window${USAGE}`,
  summary: "Request no retry of an invoice before a time",
  options: { until: { type: "string" }, ...OPTIONS },
  positionals: ["INVOICE"],
  examples: ["npx dunlin recovery postpone inv_1 --until 2027-02-27T08:00:00Z"],
  async run(context, values, [invoiceId]) {
    const until = timeOption(values, "until");
    if (!until) throw new UsageError("--until is missing.");
    return requestRecovery(
      context,
      values,
      invoiceId!,
      (service, merchantId, request) => postponeRecovery(service, merchantId, request, until),
      () => `Postponed the retries of ${invoiceId} until ${until.toISOString()}.`,
    );
  },
};

async function requestRecovery<Result extends object>(
  context: CommandContext,
  values: OptionValues,
  invoiceId: string,
  act: (service: RecoveryRequests, merchantId: string, request: RecoveryRequest) => Promise<Result | string | null>,
  describe: (result: Result) => string,
) {
  return withDatabase(context, async ({ db, ports }) => {
    const merchantId = await resolveMerchantByInvoice(db, values, invoiceId);
    const messages: ChannelMessage[] = [];
    const service = {
      ...{ db, ports, log: context.log },
      // The service may already have read these events, and polls for new ones only now and then.
      onWithdrawn: (...withdrawn: Parameters<typeof withdrawnMessages>) =>
        void messages.push(...withdrawnMessages(...withdrawn)),
      onEvents: () => void messages.push({ channel: "events", payload: merchantId }),
    };
    const request = { invoiceId, actor: COMMAND_LINE_ACTOR, reason: textOption(values, "reason") };
    const result = await act(service, merchantId, request);
    if (messages.length > 0) await notify(db, messages);
    if (result === null) throw new CommandFailure(`There is no invoice ${invoiceId}.`);
    if (typeof result === "string") throw new CommandFailure(result);
    context.print(values.json ? JSON.stringify(result) : describe(result));
    return EXIT_CODES.ok;
  });
}
