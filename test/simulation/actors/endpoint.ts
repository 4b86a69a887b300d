import type { WebhookEvent } from "#sdk";
import type { DemoMerchant } from "../../../simulator/merchant/demo-merchant.ts";
import { chance, DAY_MS, HOUR_MS, pick, type Weighted } from "../../../simulator/world/chance.ts";
import type { Send } from "../../../src/delivery/https/send.ts";
import type { Journal, WireRequest } from "../journal.ts";
import type { Life } from "../stage/fault-plan.ts";
import type { VirtualTime } from "../stage/virtual-time.ts";

/** The merchant's endpoint, and the net before it. */
export interface Endpoint {
  sendFor(life: Life): Send;
  /** From now on every request is answered with 200. */
  heal(): void;
  outages: readonly Outage[];
}

interface Outage {
  fromMs: number;
  toMs: number;
  trouble: Trouble;
}

type Trouble =
  | "none"
  | "heard 503"
  | "500"
  | "503"
  | "429"
  | "410"
  | "timeout"
  | "heard timeout"
  | "refused"
  | "reply lost"
  | "slow";

const TROUBLES: Weighted<Trouble> = [
  ["none", 84],
  ["slow", 3],
  ["500", 3],
  ["503", 1],
  ["429", 2],
  // Something between took it for too slow, and the merchant does what it was told.
  ["heard 503", 7],
  ["410", 1],
  ["timeout", 1],
  ["heard timeout", 1],
  ["refused", 2],
  ["reply lost", 2],
];
const OUTAGE_TROUBLES: Weighted<Trouble> = [
  ["500", 3],
  ["refused", 3],
  ["timeout", 2],
  ["503", 2],
  ["heard 503", 3],
  ["410", 1],
];
const OUTAGES_PER_YEAR = 40;
const RETRY_AFTERS = ["1", "120", "5400", "40000", "80000", "90000", "Wed, 21 Oct 2015 07:28:00 GMT", "soon"];
const REPLY_MS = 30_000;

interface Options {
  seed: number;
  time: VirtualTime;
  merchant: DemoMerchant;
  journal: Journal;
  startMs: number;
  days: number;
  /** Looks at a request as it begins. */
  onRequest(request: WireRequest): Promise<void>;
  /** The merchant has something new to do. */
  onReceived(): void;
}

export function createEndpoint(options: Options): Endpoint {
  const { seed, time, merchant, journal } = options;
  const outages = outagesOf(options);
  const requests = new Map<string, number>();
  let healed = false;

  function troubleOf(eventId: string, nth: number): Trouble {
    if (healed) return "none";
    const outage = outages.find(({ fromMs, toMs }) => time.nowMs() >= fromMs && time.nowMs() < toMs);
    return outage?.trouble ?? pick(chance(seed, "trouble of request", eventId, nth), TROUBLES);
  }

  function take(request: WireRequest) {
    request.handled = true;
    merchant.receive(JSON.parse(request.body) as WebhookEvent, time.now());
    options.onReceived();
  }

  const sendFor =
    (life: Life): Send =>
    async ({ body, path }) => {
      if (life.dead) return new Promise(() => {});
      const event = JSON.parse(body) as WebhookEvent;
      const nth = (requests.get(event.id) ?? 0) + 1;
      requests.set(event.id, nth);
      const request: WireRequest = {
        eventId: event.id,
        invoiceId: event.data.invoiceId,
        body,
        path,
        life: life.number,
        startMs: time.nowMs(),
        endMs: null,
        status: null,
        handled: false,
      };
      journal.wire.push(request);
      await options.onRequest(request);
      const draw = (what: string) => chance(seed, what, event.id, nth);
      const trouble = troubleOf(event.id, nth);
      const delayMs = delayOf(trouble, draw("delay"));
      await time.sleep(delayMs / 2);
      if (["none", "slow", "heard 503", "heard timeout", "reply lost"].includes(trouble)) take(request);
      await time.sleep(delayMs / 2);
      if (life.dead) return new Promise(() => {});
      request.endMs = time.nowMs();
      return answer(request, trouble, draw("retry after"));
    };

  return {
    sendFor,
    outages,
    heal() {
      healed = true;
    },
  };
}

function delayOf(trouble: Trouble, draw: number) {
  if (trouble === "timeout" || trouble === "heard timeout") return REPLY_MS;
  if (trouble === "slow") return 5_000 + draw * 24_000;
  return trouble === "refused" ? 2 : 20 + draw * 500;
}

function answer(request: WireRequest, trouble: Trouble, draw: number): Awaited<ReturnType<Send>> {
  if (trouble === "timeout" || trouble === "heard timeout") return { outcome: "failed", error: "no answer in 30 s" };
  if (trouble === "refused") return { outcome: "failed", error: "connection refused" };
  if (trouble === "reply lost") return { outcome: "failed", error: "connection reset" };
  const status =
    trouble === "none" || trouble === "slow" ? [200, 202, 204][Math.floor(draw * 3)]! : Number(trouble.slice(-3));
  request.status = status;
  const retryAfter = status === 429 || status === 503 ? RETRY_AFTERS[Math.floor(draw * RETRY_AFTERS.length)]! : null;
  return { outcome: "response", status, retryAfter, text: status >= 300 ? "sorry" : null };
}

/** From ten minutes to three days, mostly hours. */
function outagesOf({ seed, startMs, days }: Options): Outage[] {
  const count = Math.round((OUTAGES_PER_YEAR * days) / 365);
  return Array.from({ length: count }, (_, n) => {
    const fromMs = startMs + chance(seed, "outage", n) * days * DAY_MS;
    const toMs = fromMs + (HOUR_MS / 6) * 432 ** chance(seed, "outage lasts", n);
    return { fromMs, toMs, trouble: pick(chance(seed, "outage of", n), OUTAGE_TROUBLES) };
  });
}
