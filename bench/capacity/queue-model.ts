import { createSharedCores } from "./core-sharing.ts";

/**
 * Simulates each event in deciding and delivering. A formula such as Allen and Cunneen's for G/G/k needs servers that each take one
 * job. A decider takes up to 100 cases from one merchant at once, so its cost per case falls with the load, and a giant merchant's
 * lock lets only one batch write at a time.
 */
export interface QueueModel {
  /** Free for deciders, deliverers and PostgreSQL, which here share a machine. */
  cores: number;
  /** By other programs on the machine; 1 without any. */
  slowdown: number;
  deciders: number;
  /** In one decider. */
  merchantsAtOnce: number;
  batchSize: number;
  /** To find merchants with work. */
  round: { serviceMs: number; databaseMs: number };
  /** For a case's first decision, and for a step that changes little. */
  steps: Record<StepKind, StepCost>;
  /** Of the time in which a batch uses the database, the share in which it holds the merchant's clock. */
  lockedShare: number;
  /** Without CPU: the disk's, and the way between processes. */
  commitMs: number;
  delivery: DeliveryModel | null;
}

export type StepKind = "first" | "light";

export interface StepCost {
  /** For each batch. */
  batch: { serviceMs: number; databaseMs: number };
  /** For each case in it. */
  item: { serviceMs: number; databaseMs: number };
}

export interface DeliveryModel {
  processes: number;
  /** At once, for each merchant. */
  cap: number;
  /** By a case's first decision. */
  eventsPerCase: number;
  serviceMs: number;
  databaseMs: number;
  /** The receiver's CPU, if it shares the machine, and its wait. */
  receiverMs: number;
  answerMs: number;
  /** Until a new event is read. */
  readMs: number;
}

/** Cases that one commit opens. */
export interface Arrival {
  atMs: number;
  merchant: number;
  cases: number;
}

export interface Prediction {
  /** From the facts' commit to the decision's commit, for each case. */
  decisionWaitsMs: number[];
  /** From the decision's commit to the start of the attempt. */
  deliveryWaitsMs: number[];
  /** Busy cores of the deciders, the deliverers and the database. */
  busy: { deciders: number; deliverers: number; database: number };
  /** When nothing is left to do. */
  endMs: number;
  casesPerBatch: number;
}

const MAX_ROUND_MS = 250;

interface QueuedCase {
  kind: StepKind;
  sinceMs: number;
}

/**
 * @param arrivals  in order
 * @param untilMs  then the simulation ends, whatever still waits
 */
export function predict(model: QueueModel, arrivals: readonly Arrival[], untilMs: number): Prediction {
  const machine = createSharedCores(model.cores, model.slowdown);
  const queues = new Map<number, QueuedCase[]>();
  const decisionWaitsMs: number[] = [];
  const deliveryWaitsMs: number[] = [];
  const idle = new Map<number, () => void>();
  let [batches, stepped] = [0, 0];

  function enqueue(merchant: number, cases: readonly QueuedCase[]) {
    const queue = queues.get(merchant) ?? [];
    queues.set(merchant, queue);
    queue.push(...cases);
    for (const [decider, wake] of [...idle]) {
      idle.delete(decider);
      wake();
    }
  }

  function runRound(decider: number) {
    const thread = `decider ${decider}`;
    const next = () => runRound(decider);
    machine.compute(model.round.databaseMs, null, () =>
      machine.compute(model.round.serviceMs, thread, () => {
        const waiting = [...queues].filter(([, { length }]) => length > 0);
        waiting.sort(([, a], [, b]) => a[0]!.sinceMs - b[0]!.sinceMs);
        if (waiting.length === 0) {
          idle.set(decider, next);
          return;
        }
        const merchants = waiting.map(([merchant]) => merchant);
        const workers = Math.min(model.merchantsAtOnce, merchants.length);
        const begunMs = machine.nowMs();
        let running = workers;
        const work = (isNewestFirst: boolean) => {
          const isOver = workers > 1 && machine.nowMs() - begunMs > MAX_ROUND_MS;
          const merchant = isOver ? undefined : isNewestFirst ? merchants.pop() : merchants.shift();
          if (merchant !== undefined) runBatch(thread, merchant, () => work(isNewestFirst));
          else if (--running === 0) next();
        };
        for (let n = 0; n < workers; n++) work(n % 2 === 1);
      }),
    );
  }

  function runBatch(thread: string, merchant: number, done: () => void) {
    const cases = queues.get(merchant)!.splice(0, model.batchSize);
    if (cases.length === 0) return done();
    batches++;
    stepped += cases.length;
    const cost = batchCost(model, cases);
    const lockedMs = cost.databaseMs * model.lockedShare;
    machine.compute(cost.databaseMs - lockedMs, null, () =>
      machine.compute(cost.serviceMs, thread, () =>
        machine.lock(`clock ${merchant}`, (release) =>
          machine.compute(lockedMs, null, () =>
            machine.at(machine.nowMs() + model.commitMs, () => {
              release();
              const first = cases.filter(({ kind }) => kind === "first");
              for (const { sinceMs } of first) decisionWaitsMs.push(machine.nowMs() - sinceMs);
              if (first.length > 0) announce(merchant, first.length);
              done();
            }),
          ),
        ),
      ),
    );
  }

  const lanes = new Map<number, { waiting: number[]; inFlight: number }>();

  function announce(merchant: number, cases: number) {
    const { delivery } = model;
    if (!delivery) return;
    const sinceMs = machine.nowMs();
    machine.at(sinceMs + delivery.readMs, () => {
      const lane = lanes.get(merchant) ?? { waiting: [], inFlight: 0 };
      lanes.set(merchant, lane);
      lane.waiting.push(...Array<number>(Math.round(cases * delivery.eventsPerCase)).fill(sinceMs));
      send(merchant, lane, delivery);
    });
  }

  function send(merchant: number, lane: { waiting: number[]; inFlight: number }, delivery: DeliveryModel) {
    const thread = `deliverer ${merchant % delivery.processes}`;
    while (lane.waiting.length > 0 && lane.inFlight < delivery.cap) {
      const sinceMs = lane.waiting.shift()!;
      lane.inFlight++;
      machine.compute(delivery.serviceMs, thread, () => {
        deliveryWaitsMs.push(machine.nowMs() - sinceMs);
        machine.compute(delivery.receiverMs, "receiver", () =>
          machine.at(machine.nowMs() + delivery.answerMs, () => {
            lane.inFlight--;
            machine.compute(delivery.databaseMs, null, () =>
              enqueue(merchant, [{ kind: "light", sinceMs: machine.nowMs() }]),
            );
            send(merchant, lane, delivery);
          }),
        );
      });
    }
  }

  for (let decider = 0; decider < model.deciders; decider++) runRound(decider);
  let next = 0;
  const arrive = () => {
    const arrival = arrivals[next++];
    if (!arrival) return;
    machine.at(arrival.atMs, () => {
      const opened = Array.from({ length: arrival.cases }, () => ({ kind: "first" as const, sinceMs: arrival.atMs }));
      enqueue(arrival.merchant, opened);
      arrive();
    });
  };
  arrive();
  machine.run(untilMs);
  const busyOf = (prefix: string) =>
    [...machine.usedMs()].filter(([name]) => name.startsWith(prefix)).reduce((sum, [, ms]) => sum + ms, 0) /
    machine.nowMs();
  return {
    decisionWaitsMs,
    deliveryWaitsMs,
    busy: {
      deciders: busyOf("decider"),
      deliverers: busyOf("deliverer"),
      database: (machine.usedMs().get("") ?? 0) / machine.nowMs(),
    },
    endMs: machine.nowMs(),
    casesPerBatch: stepped / Math.max(1, batches),
  };
}

/** The dearest kind pays for the batch. */
function batchCost({ steps }: QueueModel, cases: readonly QueuedCase[]) {
  const kinds = new Set(cases.map(({ kind }) => kind));
  const sum = (field: "serviceMs" | "databaseMs") =>
    Math.max(...[...kinds].map((kind) => steps[kind].batch[field])) +
    cases.reduce((total, { kind }) => total + steps[kind].item[field], 0);
  return { serviceMs: sum("serviceMs"), databaseMs: sum("databaseMs") };
}

/**
 * Requests at random times, as many senders make them.
 *
 * @param random  between 0 and 1
 */
export function poissonArrivals(
  given: { casesPerSecond: number; casesPerRequest: number; merchants: number; seconds: number },
  random: () => number,
): Arrival[] {
  const meanMs = (1_000 * given.casesPerRequest) / given.casesPerSecond;
  const arrivals: Arrival[] = [];
  for (let atMs = 0; ; ) {
    atMs += -Math.log(1 - random()) * meanMs;
    if (atMs > given.seconds * 1_000) return arrivals;
    arrivals.push({ atMs, merchant: Math.floor(random() * given.merchants), cases: given.casesPerRequest });
  }
}

/** The value below which a share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
