// A process of `bench:ingest`: batches at an even pace, whatever the answers take, and somebody who lists meanwhile.
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "undici";
import { openPoster, postRequest } from "../https-posts.ts";
import { BATCH, bodyOf, createMaker } from "../invoice-batches.ts";
import { answer } from "../part.ts";

export interface Steady {
  port: number;
  ca: string;
  apiKey: string;
  seconds: number;
  perSecond: number;
}

/** What it took, in milliseconds, from the moment at which a request was due. */
export interface Took {
  requests: number;
  errors: string[];
  p50: number;
  p99: number;
  most: number;
}

export interface SteadyResult {
  ingest: Took;
  list: Took;
  /** Records that are new, so that each must be a row. */
  fresh: number;
  connections: number;
}

type Poster = Awaited<ReturnType<typeof openPoster>>;

const LISTS_PER_SECOND = 5;
/** As a client has that is built on the SDK, and some more: what comes while all are busy waits, and its time is counted. */
const CONNECTIONS_MAX = 16;
/** Batches that are new as a whole, so that there is something to change, spread over the table. */
const FRESH = 100;
/** Bodies are made so many at a time, which holds the sender up for some milliseconds. */
const MADE_AT_ONCE = 20;

/** Longer than this behind, it is the sender that can't keep up, and the figures say nothing of the service. */
const LATE_MAX_MS = 1_000;
const LISTS = [
  "",
  "orderBy=updated_at",
  "status=RECOVERY_ACTION_STATUS_SCHEDULED&orderDirection=asc",
  "currency=EUR&pageSize=50",
];

const maker = createMaker(Date.now());
const ready: Buffer[] = [];

function make(apiKey: string, count: number, allNew: boolean) {
  for (const batch of maker.batches("changes", count, allNew))
    ready.push(postRequest("/ingest/v1/invoices", apiKey, bodyOf(batch)));
}

function seriesOf(taken: number[], errors: string[]): Took {
  const sorted = taken.sort((a, b) => a - b);
  const at = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
  return {
    requests: taken.length + errors.length,
    errors: errors.slice(0, 5),
    p50: at(0.5),
    p99: at(0.99),
    most: at(1),
  };
}

/** Does `work` so many times a second, each time when it is due; what it took counts from then. */
async function evenly(seconds: number, perSecond: number, work: (index: number) => Promise<void>, after = () => {}) {
  const taken: number[] = [];
  const errors: string[] = [];
  const all: Promise<void>[] = [];
  const beganMs = performance.now();
  for (let index = 0; index < seconds * perSecond; index++) {
    const dueMs = beganMs + (index * 1_000) / perSecond;
    const earlyMs = dueMs - performance.now();
    if (earlyMs > 0) await sleep(earlyMs);
    if (-earlyMs > LATE_MAX_MS) errors.push(`sent ${Math.round(-earlyMs)} ms late`);
    const done = work(index).then(
      () => void taken.push(performance.now() - dueMs),
      (error) => void errors.push(String(error)),
    );
    all.push(done);
    after();
  }
  await Promise.all(all);
  return seriesOf(taken, errors);
}

async function run({ port, ca, apiKey, seconds, perSecond }: Steady): Promise<SteadyResult> {
  const idle: Poster[] = [];
  const waiting: ((poster: Poster) => void)[] = [];
  let connections = 0;
  make(apiKey, FRESH, true);
  async function take(): Promise<Poster> {
    const poster = idle.pop();
    if (poster) return poster;
    if (connections === CONNECTIONS_MAX) return new Promise((resolve) => waiting.push(resolve));
    connections++;
    return openPoster(port, ca);
  }
  const push = async () => {
    const request = ready.shift()!;
    const poster = await take();
    await poster.post(request);
    const next = waiting.shift();
    if (next) next(poster);
    else idle.push(poster);
  };
  const lister = new Client(`https://127.0.0.1:${port}`, { connect: { ca }, allowH2: false });
  const list = async (index: number) => {
    const path = `/v1/recovery_actions?${LISTS[index % LISTS.length]}`;
    const headers = { authorization: `Bearer ${apiKey}` };
    const { statusCode, body } = await lister.request({ method: "GET", path, headers });
    await body.dump();
    if (statusCode !== 200) throw new Error(`the list answered ${statusCode}`);
  };
  const [ingest, listed] = await Promise.all([
    evenly(seconds, perSecond, push, () => {
      if (ready.length < MADE_AT_ONCE) make(apiKey, MADE_AT_ONCE, false);
    }),
    evenly(seconds, LISTS_PER_SECOND, list),
  ]);
  for (const poster of idle) poster.close();
  await lister.close();
  const sent = seconds * perSecond;
  const fresh = (Math.min(sent, FRESH) + Math.max(0, sent - FRESH) / 2) * BATCH;
  return { ingest, list: listed, fresh, connections };
}

answer({ run });
