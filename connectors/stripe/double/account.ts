import type Stripe from "stripe";
import { StripeApiError } from "./stripe-error.ts";

/** Anything with an id that the API returns. */
export interface StoredObject {
  id: string;
  object: string;
  created?: number;
}

/** Work of the account's own engine, at a time of its clock in seconds. */
interface Task {
  at: number;
  run(): void;
}

export interface AccountOptions {
  now(): Date;
  livemode?: boolean;
  apiVersion: string;
  /** Called with each new event. */
  onEvent(event: Stripe.Event): void;
}

/** The objects of one Stripe account, and its clock. */
export interface Account {
  id: string;
  livemode: boolean;
  apiVersion: string;
  /** Of the request under way. */
  idempotencyKey: string | null;
  /** Seconds since 1970, by the account's clock or by a test clock. */
  seconds(clockId?: string | null): number;
  newId(prefix: string): string;
  add<T extends StoredObject>(object: T): T;
  /** Throws a 404 of Stripe's if there is none of this kind. */
  get<T>(kind: string, id: string): T;
  find<T>(kind: string, id: string): T | undefined;
  /** Oldest first. Not a copy. */
  list<T>(kind: string): readonly T[];
  /** Those with a value in one of `INDEXED`, oldest first. */
  listBy<T>(kind: string, field: string, value: string): readonly T[];
  remove(id: string): void;
  /** Runs `task` at a time in seconds. */
  at(seconds: number, clockId: string | null, task: () => void): void;
  /** When the next task is due on the account's own clock, in seconds; null: there is none. */
  nextTaskAt(): number | null;
  /** Runs all tasks that are due, oldest first. */
  runDue(): void;
  /** Moves a test clock on, task by task, so that each sees its own time. */
  advanceClock(clock: Stripe.TestHelpers.TestClock, toSeconds: number): void;
  emit(type: string, object: StoredObject, previous?: Record<string, unknown>): void;
}

/** Fields by which objects are found; an object never changes them. */
export const INDEXED: Readonly<Record<string, Readonly<Record<string, (object: never) => unknown>>>> = {
  charge: {
    customer: ({ customer }: Stripe.Charge) => customer,
    payment_intent: ({ payment_intent }: Stripe.Charge) => payment_intent,
  },
  invoice: {
    customer: ({ customer }: Stripe.Invoice) => customer,
    subscription: ({ parent }: Stripe.Invoice) => parent?.subscription_details?.subscription,
  },
  invoice_payment: {
    invoice: ({ invoice }: Stripe.InvoicePayment) => invoice,
    payment_intent: ({ payment }: Stripe.InvoicePayment) => payment.payment_intent,
  },
  dispute: { charge: ({ charge }: Stripe.Dispute) => charge },
};

const DAY_S = 86_400;
const EVENTS_KEPT_S = 30 * DAY_S;

export function createAccount({ now, livemode = false, apiVersion, onEvent }: AccountOptions): Account {
  const objects = new Map<string, StoredObject>();
  const byKind = new Map<string, StoredObject[]>();
  const byField = new Map<string, StoredObject[]>();
  const keep = (map: Map<string, StoredObject[]>, key: string, object: StoredObject) => {
    const kept = map.get(key);
    if (kept) kept.push(object);
    else map.set(key, [object]);
  };
  /** By clock, oldest first. */
  const tasks = new Map<string | null, Task[]>();
  let ids = 0;

  const account: Account = {
    id: "acct_1Double",
    livemode,
    apiVersion,
    idempotencyKey: null,
    seconds(clockId = null) {
      const clock = clockId === null ? undefined : (objects.get(clockId) as Stripe.TestHelpers.TestClock | undefined);
      return clock ? clock.frozen_time : Math.floor(now().getTime() / 1_000);
    },
    newId: (prefix) => `${prefix}_1D${(++ids).toString(36).padStart(22, "0")}`,
    add(object) {
      objects.set(object.id, object);
      keep(byKind, object.object, object);
      for (const [field, read] of Object.entries(INDEXED[object.object] ?? {}))
        keep(byField, `${object.object} ${field} ${read(object as never)}`, object);
      return object;
    },
    get<T>(kind: string, id: string): T {
      const found = account.find<T>(kind, id);
      if (found !== undefined) return found;
      const message = `No such ${kind}: '${id}'`;
      throw new StripeApiError(404, { type: "invalid_request_error", code: "resource_missing", param: "id", message });
    },
    find<T>(kind: string, id: string) {
      const found = objects.get(id);
      return found?.object === kind ? (found as T) : undefined;
    },
    list: <T>(kind: string) => (byKind.get(kind) ?? []) as T[],
    listBy: <T>(kind: string, field: string, value: string) => (byField.get(`${kind} ${field} ${value}`) ?? []) as T[],
    remove(id) {
      const object = objects.get(id);
      if (!object) return;
      objects.delete(id);
      byKind.set(
        object.object,
        byKind.get(object.object)!.filter((each) => each.id !== id),
      );
    },
    at(at, clockId, run) {
      const queue = tasks.get(clockId) ?? [];
      tasks.set(clockId, queue);
      let [low, high] = [0, queue.length];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (queue[middle]!.at <= at) low = middle + 1;
        else high = middle;
      }
      queue.splice(low, 0, { at, run });
    },
    nextTaskAt: () => tasks.get(null)?.[0]?.at ?? null,
    runDue() {
      for (const [clockId, queue] of tasks)
        while (queue.length > 0 && queue[0]!.at <= account.seconds(clockId)) queue.shift()!.run();
    },
    advanceClock(clock, toSeconds) {
      const queue = tasks.get(clock.id) ?? [];
      while (queue.length > 0 && queue[0]!.at <= toSeconds) {
        const next = queue.shift()!;
        clock.frozen_time = Math.max(clock.frozen_time, next.at);
        next.run();
      }
      clock.frozen_time = toSeconds;
    },
    emit(type, object, previous) {
      const created = account.seconds();
      const event = {
        id: account.newId("evt"),
        object: "event",
        api_version: apiVersion,
        created,
        data: { object: structuredClone(object), ...(previous && { previous_attributes: previous }) },
        livemode,
        pending_webhooks: 1,
        request: { id: null, idempotency_key: account.idempotencyKey },
        type,
      } as unknown as Stripe.Event;
      account.add(event);
      const events = byKind.get("event")!;
      while (events.length > 0 && events[0]!.created! < created - EVENTS_KEPT_S) objects.delete(events.shift()!.id);
      onEvent(event);
    },
  };
  return account;
}
