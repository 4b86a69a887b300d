import type { WebhookEvent } from "#sdk";
import type { DemoMerchant } from "../../../simulator/merchant/demo-merchant.ts";
import { DAY_MS, HOUR_MS, keyedRandom, pickWeighted, type Weighted } from "../../../simulator/world/keyed-random.ts";
import type { Send } from "../../../src/delivery/https/https-sender.ts";
import type { Journal, WireRequest } from "../journal.ts";
import type { ProcessLife } from "../stage/fault-plan.ts";
import type { VirtualTime } from "../stage/virtual-time.ts";

/** The merchant's endpoint, and the network before it. */
export interface SimulatedEndpoint {
  sendFor(life: ProcessLife): Send;
  /** From now on answers every request with 200. */
  heal(): void;
  outages: readonly Outage[];
}

interface Outage {
  fromMs: number;
  toMs: number;
  trouble: EndpointFault;
}

type EndpointFault =
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

const ENDPOINT_FAULTS: Weighted<EndpointFault> = [
  ["none", 84],
  ["slow", 3],
  ["500", 3],
  ["503", 1],
  ["429", 2],
  // A proxy timed out, and the merchant still follows the instruction.
  ["heard 503", 7],
  ["410", 1],
  ["timeout", 1],
  ["heard timeout", 1],
  ["refused", 2],
  ["reply lost", 2],
];
const OUTAGE_FAULTS: Weighted<EndpointFault> = [
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
  /** Called when a request begins. */
  onRequest(request: WireRequest): Promise<void>;
  /** Called when the merchant has new work. */
  onReceived(): void;
}

export function createSimulatedEndpoint(options: Options): SimulatedEndpoint {
  const { seed, time, merchant, journal } = options;
  const outages = planOutages(options);
  const requests = new Map<string, number>();
  let healed = false;

  function troubleOf(eventId: string, nth: number): EndpointFault {
    if (healed) return "none";
    const outage = outages.find(({ fromMs, toMs }) => time.nowMs() >= fromMs && time.nowMs() < toMs);
    return outage?.trouble ?? pickWeighted(keyedRandom(seed, "trouble of request", eventId, nth), ENDPOINT_FAULTS);
  }

  function take(request: WireRequest) {
    request.handled = true;
    merchant.receive(JSON.parse(request.body) as WebhookEvent, time.now());
    options.onReceived();
  }

  const sendFor =
    (life: ProcessLife): Send =>
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
      const draw = (what: string) => keyedRandom(seed, what, event.id, nth);
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

function delayOf(trouble: EndpointFault, draw: number) {
  if (trouble === "timeout" || trouble === "heard timeout") return REPLY_MS;
  if (trouble === "slow") return 5_000 + draw * 24_000;
  return trouble === "refused" ? 2 : 20 + draw * 500;
}

function answer(request: WireRequest, trouble: EndpointFault, draw: number): Awaited<ReturnType<Send>> {
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
function planOutages({ seed, startMs, days }: Options): Outage[] {
  const count = Math.round((OUTAGES_PER_YEAR * days) / 365);
  return Array.from({ length: count }, (_, n) => {
    const fromMs = startMs + keyedRandom(seed, "outage", n) * days * DAY_MS;
    const toMs = fromMs + (HOUR_MS / 6) * 432 ** keyedRandom(seed, "outage lasts", n);
    return { fromMs, toMs, trouble: pickWeighted(keyedRandom(seed, "outage of", n), OUTAGE_FAULTS) };
  });
}
