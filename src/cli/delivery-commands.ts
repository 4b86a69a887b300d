import { EVENT_TYPES, type Event, type EventType } from "../domain/event.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { auditReplay, replayExhausted } from "../merchants/replay.ts";
import type { Tx } from "../postgres/database.ts";
import { type LoggedAttempt, listAttemptsOfEvent } from "../tables/delivery-attempts.ts";
import {
  DELIVERY_STATES,
  type DeliveryState,
  findDelivery,
  type ListedDelivery,
  listDeliveries,
  planMadeAt,
} from "../tables/delivery-states.ts";
import { findEvent } from "../tables/events.ts";
import { merchantsWithInvoice } from "../tables/invoices.ts";
import { findMerchant } from "../tables/merchants.ts";
import {
  type Command,
  CommandFailure,
  EXIT_CODES,
  formatTable,
  integerOption,
  isUuid,
  type OptionValues,
  textOption,
  timeOption,
  UsageError,
  withDatabase,
} from "./command.ts";
import { describeEndpointAdvice } from "./endpoint-state.ts";
import { resolveMerchant, resolveMerchantByEvents } from "./resolve-merchant.ts";

const filterUsage = (merchantHelp: string) => `
  --merchant M             ${merchantHelp}
  --type T                 ${EVENT_TYPES.join(" | ")}`;

export const deliveryList: Command = {
  name: "delivery list",
  usage: `[options]${filterUsage("the events' merchant; not needed if there is only one, or only one has the invoice")}
  --state S                ${DELIVERY_STATES.join(" | ")}
  --invoice I              events of one invoice
  --limit N                (50)
  --json`,
  summary: "List events and the state of their delivery, latest plan first",
  options: {
    merchant: { type: "string" },
    state: { type: "string" },
    type: { type: "string" },
    invoice: { type: "string" },
    limit: { type: "string" },
    json: { type: "boolean" },
  },
  positionals: [],
  examples: ["npx dunlin delivery list --state exhausted", "npx dunlin delivery list --invoice inv_1"],
  async run(context, values) {
    const filter = {
      state: enumOption<DeliveryState>(values, "state", DELIVERY_STATES),
      type: enumOption<EventType>(values, "type", EVENT_TYPES),
      invoiceId: textOption(values, "invoice"),
      limit: integerOption(values, "limit", 1, 10_000) ?? 50,
    };
    return withDatabase(context, async ({ db, tenantDb }) => {
      const merchantId = await resolveListedMerchant(db, values, filter.invoiceId);
      const deliveries = await listDeliveries(tenantDb.of(merchantId), merchantId, filter);
      const merchant = await findMerchant(db, merchantId);
      const advice = merchant === null ? null : describeEndpointAdvice(merchant);
      if (advice !== null && !values.json) context.print(advice);
      if (values.json) context.print(JSON.stringify(deliveries));
      else if (deliveries.length === 0) context.print("No event matches.");
      else
        for (const line of formatTable(
          ["PLAN MADE", "CREATED", "TYPE", "EVENT", "INVOICE", "STATE", "ATTEMPTS", "LAST"],
          deliveries.map(deliveryCells),
        ))
          context.print(line);
      return EXIT_CODES.ok;
    });
  },
};

async function resolveListedMerchant(tx: Tx, values: OptionValues, invoiceId: string | undefined): Promise<string> {
  const ignoresInvoice = values.merchant !== undefined || invoiceId === undefined;
  const [only, ...others] = ignoresInvoice ? [] : await merchantsWithInvoice(tx, invoiceId);
  return only !== undefined && others.length === 0 ? only : resolveMerchant(tx, values);
}

const deliveryCells = (delivery: ListedDelivery) => [
  formatMinute(planMadeAt(delivery)),
  formatMinute(delivery.createdAt),
  delivery.type,
  delivery.eventId,
  delivery.invoiceId,
  describeState(delivery),
  String(delivery.attempts),
  delivery.error ?? (delivery.status === null ? "" : String(delivery.status)),
];

const describeState = ({ state, dueAt }: ListedDelivery) =>
  dueAt === null ? state : `${state}, next ${dueAt.toISOString()}`;

export const deliveryShow: Command = {
  name: "delivery show",
  usage: `EVENT [--merchant M] [--json]
  --merchant M   the event's merchant; not needed, because the event id identifies it`,
  summary: "Show an event: its merchant, delivery state, body and every attempt",
  options: { merchant: { type: "string" }, json: { type: "boolean" } },
  positionals: ["EVENT"],
  examples: ["npx dunlin delivery show 0198c0de-…"],
  async run(context, values, [eventId]) {
    return withDatabase(context, async ({ db }) => {
      const merchantId = await resolveMerchantByEvents(db, values, [eventId!]);
      const event = isUuid(eventId!) ? await findEvent(db, merchantId, eventId!) : null;
      if (event === null)
        throw new CommandFailure(`The merchant has no event ${eventId}. "npx dunlin delivery list" shows them.`);
      const attempts = await listAttemptsOfEvent(db, merchantId, event.id);
      if (values.json) context.print(JSON.stringify(attempts));
      else {
        const { name } = (await findMerchant(db, merchantId))!;
        const delivery = (await findDelivery(db, merchantId, event.id))!;
        for (const line of [...eventLines(event, `${name} ${merchantId}`, delivery), ...attemptLines(event, attempts)])
          context.print(line);
      }
      return EXIT_CODES.ok;
    });
  },
};

const eventLines = ({ type, createdAt, invoiceId }: Event, merchant: string, delivery: ListedDelivery) => [
  `${type} of ${createdAt.toISOString()}`,
  `invoice   ${invoiceId}`,
  `merchant  ${merchant}`,
  `state     ${describeState(delivery)}`,
];

/** Repeats request headers only if they changed. */
function attemptLines(event: Event, attempts: readonly LoggedAttempt[]): string[] {
  const lines = ["body", ...indentLines(event.body)];
  if (attempts.length === 0) lines.push("No attempt has ended yet.");
  let head: string | null = null;
  for (const attempt of attempts) {
    if (attempt.head !== null && attempt.head !== head) lines.push("request", ...indentLines(attempt.head));
    head = attempt.head ?? head;
    const { round, number, startedAt, durationMs, ends, response } = attempt;
    const result = attempt.status === null ? attempt.error : `status ${attempt.status}`;
    const end = ends === null ? "" : `  ${ends}`;
    lines.push(`round ${round} attempt ${number}  ${startedAt.toISOString()}  ${durationMs} ms  ${result}${end}`);
    const steps = TIMING_STEPS.flatMap(([name, field]) =>
      attempt[field] === null ? [] : [`${name} ${attempt[field]} ms`],
    );
    if (steps.length > 0) lines.push(`    ${steps.join(", ")}`);
    if (response !== null) lines.push(...indentLines(response));
  }
  return lines;
}

const indentLines = (text: string) => text.split("\n").map((line) => `    ${line}`.trimEnd());

const TIMING_STEPS = [
  ["DNS", "lookUpMs"],
  ["connect", "connectMs"],
  ["TLS", "tlsMs"],
  ["first byte", "firstByteMs"],
] as const;

export const deliveryReplay: Command = {
  name: "delivery replay",
  usage: `EVENT… | --all [options]${filterUsage("the events' merchant; with --all, not needed if there is only one")}
  --all                    all exhausted events that match the filters
  --from D, --to D         only events created in this period
  --json`,
  summary: "Send exhausted events again, with the same id and body, on the full retry schedule",
  options: {
    merchant: { type: "string" },
    all: { type: "boolean" },
    type: { type: "string" },
    from: { type: "string" },
    to: { type: "string" },
    json: { type: "boolean" },
  },
  positionals: [],
  allowsMorePositionals: true,
  examples: [
    "npx dunlin delivery replay 0198c0de-…",
    "npx dunlin delivery replay --all --type complete_dunning --from 2027-01-01",
  ],
  async run(context, values, eventIds) {
    if (eventIds.length > 0 === (values.all === true)) throw new UsageError("Pass either event ids or --all.");
    const unknown = eventIds.find((id) => !isUuid(id));
    if (unknown !== undefined)
      throw new CommandFailure(`There is no event ${unknown}. "npx dunlin delivery list" shows them.`);
    const selection =
      eventIds.length > 0
        ? { eventIds }
        : {
            type: enumOption<EventType>(values, "type", EVENT_TYPES),
            createdFrom: timeOption(values, "from"),
            createdTo: timeOption(values, "to"),
          };
    return withDatabase(context, async ({ db, ports }) => {
      const merchantId = await (eventIds.length > 0
        ? resolveMerchantByEvents(db, values, eventIds)
        : resolveMerchant(db, values));
      const { replayed, skipped } = await replayExhausted(
        db,
        merchantId,
        selection,
        ports,
        auditReplay(COMMAND_LINE_ACTOR, ports, merchantId),
      );
      if (values.json) context.print(JSON.stringify({ replayed, skipped }));
      else {
        context.print(`${replayed.length} sent again, ${skipped.length} skipped.`);
        for (const [reason, count] of countByReason(skipped.map(({ skip }) => skip!)))
          context.print(`  ${count} skipped: ${reason}`);
      }
      return EXIT_CODES.ok;
    });
  },
};

function countByReason(reasons: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return counts;
}

function enumOption<T extends string>(values: OptionValues, name: string, choices: readonly T[]): T | undefined {
  const value = textOption(values, name);
  if (value === undefined) return undefined;
  const found = choices.find((each) => each === value);
  if (!found) throw new UsageError(`--${name} takes one of ${choices.join(", ")}, not "${value}".`);
  return found;
}

const formatMinute = (at: Date) => `${at.toISOString().slice(0, 16)}Z`;
