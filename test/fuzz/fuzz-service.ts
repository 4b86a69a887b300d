import { chmodSync, readFileSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Dispatcher, Pool } from "undici";
import { openPostgresProcesses } from "../faults/harness/postgres-processes.ts";
import {
  createEnvironment,
  createMerchantByCommand,
  createServiceFleet,
  type ServiceFleet,
} from "../faults/harness/service-fleet.ts";
import { findFreePort } from "../free-port.ts";
import { type FuzzTarget, sendBrokenFraming } from "./broken-framing.ts";
import { isListedRule } from "./expected-answer.ts";
import { createHostileRequest, type HostileRequest } from "./hostile-requests.ts";
import { generateSchemaBodies } from "./naughty-texts.ts";
import { createSeededRandom } from "./seeded-random.ts";
import { startSlowClients } from "./slow-clients.ts";

export interface FuzzOptions {
  requests: number;
  seed: number;
  /** Number of bodies made from the schemas, from which the others are mutated. */
  bodies: number;
  print(line: string): void;
}

export interface FuzzResult {
  problems: string[];
  /** Number of answers by status. */
  answers: Map<number, number>;
  /** How many bodies each listed rule refused. */
  rules: Map<string, number>;
  growthMiB: number;
  sockets: number;
  seconds: number;
}

const CONNECTIONS = 8;
/** One in so many requests is sent as raw bytes over a separate socket. */
const BROKEN_FRAMING_EVERY = 100;
const SLOW_CLIENTS = 20;
/** Headers may take 10 s, a whole request 20 s; the service checks every second. */
const SLOW_CLIENT_MS_MAX = 23_000;
const GROWTH_MAX_MIB = 64;
/** Requests between memory samples. One sample says little: garbage collection varies memory by a hundred MiB. */
const MEMORY_SAMPLE_EVERY = 500;
/** The first and last samples after the warm-up, by this share, are compared by their medians. */
const COMPARED_SAMPLE_SHARE = 0.2;
/** Until code is compiled, and pools and caches are filled. */
const warmUpRequests = (requests: number) => Math.min(20_000, Math.ceil(requests / 3));
const PROBLEMS_MAX = 20;

/** Sends hostile requests to the running service over HTTPS. Removes its temporary folder afterwards. */
export async function fuzzService(options: FuzzOptions): Promise<FuzzResult> {
  const root = await mkdtemp(join(tmpdir(), "dunlin-fuzz-"));
  chmodSync(root, 0o755); // PostgreSQL runs as somebody else when we are root
  const dataDir = join(root, "data");
  const [port, metricsPort] = [await findFreePort(), await findFreePort()];
  const problems: string[] = [];
  const env = createEnvironment({
    DUNLIN_DATA: dataDir,
    DUNLIN_HOST: "127.0.0.1",
    DUNLIN_PORT: String(port),
    DUNLIN_BASE_URL: `https://127.0.0.1:${port}`,
    DUNLIN_METRICS_PORT: String(metricsPort),
  });
  const fleet = createServiceFleet({
    environment: () => env,
    words: ["serve", "--roles", "api,decide"],
    onEnd: (_process, how) => problems.push(how),
  });
  const clean = () => {
    fleet.abandon();
    openPostgresProcesses(dataDir).aim(true).fire();
    rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  };
  process.once("exit", clean);
  try {
    await fleet.start();
    const limits = ["--rate-per-second", "1000000", "--rate-burst", "1000000"];
    const { apiKey } = await createMerchantByCommand(env, "Fuzz", limits);
    const ca = readFileSync(join(dataDir, "tls", "ca.pem"), "utf8");
    return await runRequests(options, { port, ca, apiKey }, fleet, metricsPort, problems);
  } finally {
    clean();
    process.removeListener("exit", clean);
  }
}

async function runRequests(
  { requests, seed, bodies, print }: FuzzOptions,
  target: FuzzTarget,
  fleet: ServiceFleet,
  metricsPort: number,
  problems: string[],
): Promise<FuzzResult> {
  const { port, ca, apiKey } = target;
  const pool = new Pool(`https://127.0.0.1:${port}`, { connections: CONNECTIONS, connect: { ca } });
  const dice = createSeededRandom(seed, "fuzz");
  const makings = {
    dice,
    apiKey,
    bodies: generateSchemaBodies(bodies, seed),
    tokens: await collectPageTokens(pool, apiKey),
  };
  const slow = startSlowClients(target, SLOW_CLIENTS);
  const answers = new Map<number, number>();
  const rules = new Map<string, number>();
  const began = performance.now();
  const warmUp = warmUpRequests(requests);
  const looks: number[] = [];
  let sent = 0;
  let sockets = 0;

  const complain = (problem: string) => {
    if (problems.length < PROBLEMS_MAX) print(`BROKEN ${problem}`);
    problems.push(problem);
  };

  async function broken() {
    sockets++;
    const answer = await sendBrokenFraming(target, dice);
    for (const [, status] of answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)) {
      answers.set(Number(status), (answers.get(Number(status)) ?? 0) + 1);
      if (Number(status) >= 500) complain(`broken framing was answered with ${status}`);
    }
  }

  async function worker() {
    while (sent < requests && problems.length < PROBLEMS_MAX) {
      sent++;
      if (sent >= warmUp && sent % MEMORY_SAMPLE_EVERY === 0) looks.push(await residentMiB(metricsPort));
      if (sent % 100_000 === 0) print(`${sent} requests, ${looks.at(-1)} MiB`);
      if (sent % BROKEN_FRAMING_EVERY === 0) await broken();
      const hostile = createHostileRequest(makings);
      const { status, problem } = await sendHostile(pool, hostile);
      answers.set(status, (answers.get(status) ?? 0) + 1);
      const { rule } = hostile.verdict;
      if (rule !== undefined) rules.set(rule, (rules.get(rule) ?? 0) + 1);
      if (problem) complain(`${problem}\n${describeRequest(hostile)}`);
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  const seconds = (performance.now() - began) / 1000;

  if (requests < 100_000) slow.stop();
  for (const ms of await slow.ended)
    if (ms > SLOW_CLIENT_MS_MAX) complain(`a client that never came to an end was put up with for ${ms} ms`);
  await sleep(1_000);
  looks.push(await residentMiB(metricsPort));
  const growthMiB = memoryGrowthMib(looks);
  if (growthMiB > GROWTH_MAX_MIB) complain(`memory grew by ${growthMiB} MiB`);
  await pool.close();
  for (const { level, text } of fleet.lines) if (level !== "warn") complain(`logged: ${text}`);
  const { code } = await fleet.processes[0]!.terminate();
  if (code !== 0) complain(`the service ended with ${code}`);
  return { problems, answers, rules, growthMiB, sockets, seconds };
}

async function sendHostile(pool: Pool, { method, path, headers, body, verdict }: HostileRequest) {
  const answer = await requestAnswer(pool, { method: method as "GET", path, headers, body });
  if (answer instanceof Error) return { status: 0, problem: `not answered: ${answer}` };
  const { status, text } = answer;
  const said = problemOf(status, text, verdict.statuses, method);
  const unlisted =
    verdict.rule !== undefined && !isListedRule(verdict.rule) ? `${verdict.rule} is not listed` : undefined;
  return { status, problem: said ?? unlisted };
}

async function requestAnswer(pool: Pool, request: Dispatcher.RequestOptions) {
  try {
    const { statusCode, body } = await pool.request(request);
    return { status: statusCode, text: await body.text() };
  } catch (error) {
    return error as Error;
  }
}

function problemOf(status: number, text: string, expected: readonly number[], method: string): string | undefined {
  if (!expected.includes(status)) return `answered with ${status} instead of ${expected.join(" or ")}: ${text}`;
  if (status < 400 || method === "HEAD") return undefined;
  try {
    const { code, message, details } = JSON.parse(text);
    return code === status && typeof message === "string" && Array.isArray(details) ? undefined : `odd error: ${text}`;
  } catch {
    return `an error that is no JSON: ${text}`;
  }
}

const describeRequest = ({ method, path, headers, body }: HostileRequest) =>
  `${method} ${path.slice(0, 300)} ${headers["content-type"] ?? ""} ${JSON.stringify(body?.toString("latin1").slice(0, 3_000) ?? "")}`;

/**
 * Extrapolated from the first to the last sample, because the medians of the two shares are closer together and would hide part
 * of a steady leak.
 */
function memoryGrowthMib(looks: readonly number[]): number {
  const count = Math.ceil(looks.length * COMPARED_SAMPLE_SHARE);
  const grown = median(looks.slice(-count)) - median(looks.slice(0, count));
  return Math.round(grown / (1 - COMPARED_SAMPLE_SHARE));
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/** Returns the memory of the service's process. */
async function residentMiB(metricsPort: number): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const bytes = /^process_resident_memory_bytes (\S+)/m.exec(metrics)![1];
  return Math.round(Number(bytes) / 2 ** 20);
}

const PAGES = 5;

/** Collects page tokens of the service, from walks over planned actions. */
async function collectPageTokens(pool: Pool, apiKey: string): Promise<string[]> {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const updatedAt = new Date().toISOString();
  const invoices = Array.from({ length: PAGES + 1 }, (_, index) => ({
    id: `inv_${index}`,
    state: "INVOICE_STATE_UNPAID",
    customerId: "c",
    amount: 4900,
    currency: "EUR",
    createdAt: updatedAt,
    updatedAt,
  }));
  await pool.request({ method: "POST", path: "/ingest/v1/invoices", headers, body: JSON.stringify({ invoices }) });
  const tokens: string[] = [];
  for (let path = "/v1/recovery_actions?pageSize=1"; tokens.length < PAGES; ) {
    const { body } = await pool.request({ method: "GET", path, headers });
    const { nextPageToken, totalSize } = (await body.json()) as { nextPageToken: string; totalSize: number };
    if (totalSize <= PAGES) await sleep(100);
    else {
      tokens.push(nextPageToken);
      path = `/v1/recovery_actions?pageSize=1&pageToken=${nextPageToken}`;
    }
  }
  return tokens;
}
