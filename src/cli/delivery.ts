import { EVENT_TYPES, type Event, type EventType } from "../domain/event.ts";
import { COMMAND_LINE } from "../domain/person.ts";
import { auditReplay, replay } from "../recovery/replay.ts";
import type { Tx } from "../store/database.ts";
import { attemptsOf, type LoggedAttempt } from "../store/delivery-attempts.ts";
import {
  DELIVERY_STATES,
  type DeliveryState,
  findDelivery,
  type ListedDelivery,
  listDeliveries,
  planMadeAt,
} from "../store/delivery-states.ts";
import { findEvent } from "../store/events.ts";
import { merchantsWithInvoice } from "../store/invoices.ts";
import { findMerchant } from "../store/merchants.ts";
import {
  type Command,
  EXIT,
  Failure,
  isUuid,
  moment,
  table,
  text,
  UsageError,
  type Values,
  wholeNumber,
  withDatabase,
} from "./command.ts";
import { endpointAdvice } from "./endpoint-words.ts";
import { merchantOf, merchantWithEvents } from "./whose.ts";

const filters = (whose: string) => `
  --merchant M             ${whose}
  --type T                 ${EVENT_TYPES.join(" | ")}`;

/** `dunlin delivery list`: how the delivery of each event stands, the latest plan first. */
export const deliveryList: Command = {
  name: "delivery list",
  usage: `[options]${filters("whose; not needed when there is only one, or only one with the invoice")}
  --state S                ${DELIVERY_STATES.join(" | ")}
  --invoice I              events of one invoice
  --limit N                (50)
  --json`,
  summary: "Show events and how their delivery stands, the latest plan first",
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
      state: oneOf<DeliveryState>(values, "state", DELIVERY_STATES),
      type: oneOf<EventType>(values, "type", EVENT_TYPES),
      invoiceId: text(values, "invoice"),
      limit: wholeNumber(values, "limit", 1, 10_000) ?? 50,
    };
    return withDatabase(context, async ({ db, walled }) => {
      const merchantId = await merchantListed(db, values, filter.invoiceId);
      const deliveries = await listDeliveries(walled.of(merchantId), merchantId, filter);
      const merchant = await findMerchant(db, merchantId);
      const advice = merchant === null ? null : endpointAdvice(merchant);
      if (advice !== null && !values.json) context.print(advice);
      if (values.json) context.print(JSON.stringify(deliveries));
      else if (deliveries.length === 0) context.print("No event matches.");
      else
        for (const line of table(
          ["PLAN MADE", "CREATED", "TYPE", "EVENT", "INVOICE", "STATE", "ATTEMPTS", "LAST"],
          deliveries.map(cells),
        ))
          context.print(line);
      return EXIT.ok;
    });
  },
};

/** The merchant that is named, or the only one with the invoice, or the only one. */
async function merchantListed(tx: Tx, values: Values, invoiceId: string | undefined): Promise<string> {
  const named = values.merchant !== undefined || invoiceId === undefined;
  const [only, ...others] = named ? [] : await merchantsWithInvoice(tx, invoiceId);
  return only !== undefined && others.length === 0 ? only : merchantOf(tx, values);
}

const cells = (delivery: ListedDelivery) => [
  minute(planMadeAt(delivery)),
  minute(delivery.createdAt),
  delivery.type,
  delivery.eventId,
  delivery.invoiceId,
  stateWords(delivery),
  String(delivery.attempts),
  delivery.error ?? (delivery.status === null ? "" : String(delivery.status)),
];

const stateWords = ({ state, dueAt }: ListedDelivery) =>
  dueAt === null ? state : `${state}, next ${dueAt.toISOString()}`;

/** `dunlin delivery show`: every attempt of one event. */
export const deliveryShow: Command = {
  name: "delivery show",
  usage: `EVENT [--merchant M] [--json]
  --merchant M   whose; not needed, as an event is of one merchant`,
  summary: "Show what is sent for one event, whose it is, how its delivery stands, and every attempt",
  options: { merchant: { type: "string" }, json: { type: "boolean" } },
  positionals: ["EVENT"],
  examples: ["npx dunlin delivery show 0198c0de-…"],
  async run(context, values, [eventId]) {
    return withDatabase(context, async ({ db }) => {
      const merchantId = await merchantWithEvents(db, values, [eventId!]);
      const event = isUuid(eventId!) ? await findEvent(db, merchantId, eventId!) : null;
      if (event === null)
        throw new Failure(`The merchant has no event ${eventId}. "npx dunlin delivery list" shows them.`);
      const attempts = await attemptsOf(db, merchantId, event.id);
      if (values.json) context.print(JSON.stringify(attempts));
      else {
        const { name } = (await findMerchant(db, merchantId))!;
        const delivery = (await findDelivery(db, merchantId, event.id))!;
        for (const line of [...headOf(event, `${name} ${merchantId}`, delivery), ...shown(event, attempts)])
          context.print(line);
      }
      return EXIT.ok;
    });
  },
};

const headOf = ({ type, createdAt, invoiceId }: Event, merchant: string, delivery: ListedDelivery) => [
  `${type} of ${createdAt.toISOString()}`,
  `invoice   ${invoiceId}`,
  `merchant  ${merchant}`,
  `state     ${stateWords(delivery)}`,
];

/** The body, which is the same each time, then each attempt: what it sent beside the body where that changed, and what came of it. */
function shown(event: Event, attempts: readonly LoggedAttempt[]): string[] {
  const lines = ["body", ...indented(event.body)];
  if (attempts.length === 0) lines.push("No attempt has ended yet.");
  let head: string | null = null;
  for (const attempt of attempts) {
    if (attempt.head !== null && attempt.head !== head) lines.push("request", ...indented(attempt.head));
    head = attempt.head ?? head;
    const { round, number, startedAt, durationMs, ends, response } = attempt;
    const result = attempt.status === null ? attempt.error : `status ${attempt.status}`;
    const end = ends === null ? "" : `  ${ends}`;
    lines.push(`round ${round} attempt ${number}  ${startedAt.toISOString()}  ${durationMs} ms  ${result}${end}`);
    const steps = STEPS.flatMap(([name, field]) => (attempt[field] === null ? [] : [`${name} ${attempt[field]} ms`]));
    if (steps.length > 0) lines.push(`    ${steps.join(", ")}`);
    if (response !== null) lines.push(...indented(response));
  }
  return lines;
}

const indented = (text: string) => text.split("\n").map((line) => `    ${line}`.trimEnd());

const STEPS = [
  ["name looked up", "lookUpMs"],
  ["connected", "connectMs"],
  ["TLS", "tlsMs"],
  ["first byte", "firstByteMs"],
] as const;

/** `dunlin delivery replay`: send exhausted events again. */
export const deliveryReplay: Command = {
  name: "delivery replay",
  usage: `EVENT… | --all [options]${filters("whose; with --all, not needed when there is only one")}
  --all                    every exhausted event that the filters pick
  --from D, --to D         created in this time
  --json`,
  summary: "Send exhausted events again: same id, same bytes, a new round of the schedule",
  options: {
    merchant: { type: "string" },
    all: { type: "boolean" },
    type: { type: "string" },
    from: { type: "string" },
    to: { type: "string" },
    json: { type: "boolean" },
  },
  positionals: [],
  more: true,
  examples: [
    "npx dunlin delivery replay 0198c0de-…",
    "npx dunlin delivery replay --all --type complete_dunning --from 2027-01-01",
  ],
  async run(context, values, eventIds) {
    if (eventIds.length > 0 === (values.all === true)) throw new UsageError("Name events, or say --all.");
    const unknown = eventIds.find((id) => !isUuid(id));
    if (unknown !== undefined)
      throw new Failure(`There is no event ${unknown}. "npx dunlin delivery list" shows them.`);
    const which =
      eventIds.length > 0
        ? { eventIds }
        : {
            type: oneOf<EventType>(values, "type", EVENT_TYPES),
            createdFrom: moment(values, "from"),
            createdTo: moment(values, "to"),
          };
    return withDatabase(context, async ({ db, ports }) => {
      const merchantId = await (eventIds.length > 0
        ? merchantWithEvents(db, values, eventIds)
        : merchantOf(db, values));
      const { replayed, skipped } = await replay(
        db,
        merchantId,
        which,
        ports,
        auditReplay(COMMAND_LINE, ports, merchantId),
      );
      if (values.json) context.print(JSON.stringify({ replayed, skipped }));
      else {
        context.print(`${replayed.length} sent again, ${skipped.length} skipped.`);
        for (const [reason, count] of countBy(skipped.map(({ skip }) => skip!)))
          context.print(`  ${count} skipped: ${reason}`);
      }
      return EXIT.ok;
    });
  },
};

function countBy(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function oneOf<T extends string>(values: Values, name: string, known: readonly T[]): T | undefined {
  const value = text(values, name);
  if (value === undefined) return undefined;
  const found = known.find((each) => each === value);
  if (!found) throw new UsageError(`--${name} takes one of ${known.join(", ")}, not "${value}".`);
  return found;
}

const minute = (at: Date) => `${at.toISOString().slice(0, 16)}Z`;
