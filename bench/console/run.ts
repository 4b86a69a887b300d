// `npm run bench -- console`: console pages over a merchant's million actions and five million deliveries.
import { availableParallelism, cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import { Client } from "undici";
import { SESSION_COOKIE } from "../../src/console/visit.ts";
import { launchChromium } from "../../test/browser/chromium.ts";
import { measureFirstPaintMs } from "../../test/browser/first-paint.ts";
import { startBenchProcess } from "../worker-process.ts";
import type { ConsoleFacts } from "./service.ts";

const { values } = parseArgs({
  options: {
    actions: { type: "string", default: "1000000" },
    deliveries: { type: "string", default: "5000000" },
    samples: { type: "string", default: "30" },
    quick: { type: "boolean" },
  },
});
const actions = values.quick ? 40_000 : Number(values.actions);
const deliveries = values.quick ? 200_000 : Number(values.deliveries);
const samples = values.quick ? 10 : Number(values.samples);
if (![actions, deliveries, samples].every((n) => Number.isSafeInteger(n) && n >= 3) || deliveries < actions) {
  console.error(
    "bench:console: use --actions 1000000, --deliveries 5000000 (not fewer than actions), --samples 30, or --quick",
  );
  process.exit(2);
}

const OVERVIEW_P50_MS = 100;
const ACTIONS_P50_MS = 200;
const PAGE_BYTES = 60_000;
const PAINT_MS = 300;
/** Memory that an export may add, as a share of its bytes. A leak would keep all of them. */
const EXPORT_MEMORY_RATIO = 1 / 3;
const LIMIT_MS = 3_600_000;
/** PostgreSQL plans a new statement five times per connection. */
const WARM_UP = 6;
const PAGES = [
  "/overview?period=7d",
  "/overview?period=4w",
  "/overview?period=12w",
  "/analytics?period=12w",
  "/analytics?period=12m",
  "/analytics?period=12w&reason=FUNDS",
  "/search?q=in_",
  "/actions",
  "/actions?status=open",
  "/actions?status=RECOVERY_ACTION_STATUS_SUCCEEDED&orderBy=executed_at",
  "/invoices",
  "/invoices?outcome=recovered",
  "/experiments",
  "/deliveries",
  "/deliveries?state=exhausted",
  "/deliveries/replay",
  "/import",
  "/backtest",
  "/settings/webhook",
  "/org/api_keys",
  "/org/members",
  "/org/audit",
  "/account",
];

let missed = 0;
const reportFigure = (name: string, figure: string, isMet: boolean) => {
  if (!isMet) missed++;
  console.log(`${name.padEnd(60)} ${figure}${isMet ? "" : "   MISSED"}`);
};
const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

console.log(
  `${availableParallelism()} cores (${cpus()[0]?.model}), load ${loadavg()[0]!.toFixed(1)}, Node ${process.version}`,
);
const service = await startBenchProcess("console/service.ts");
try {
  const startedMs = performance.now();
  const facts = await service.ask<ConsoleFacts>("make", { actions, deliveries }, LIMIT_MS);
  const inWords = (n: number) => n.toLocaleString("en");
  console.log(
    `${inWords(facts.actions)} actions, ${inWords(facts.events)} events with ${inWords(facts.deliveries)} delivery attempts in ${Math.round((performance.now() - startedMs) / 1000)} s; ${facts.server}`,
  );
  const client = new Client(facts.origin, { connect: { ca: facts.ca }, allowH2: false });
  const shown = await measurePages(client, facts);
  await measurePaint(facts, [...shown]);
  await measureExport(client, facts);
  await client.close();
} finally {
  await service.stop();
}
process.exitCode = missed === 0 ? 0 : 1;

async function fetchPage(client: Client, { cookie }: ConsoleFacts, path: string): Promise<string> {
  const { statusCode, body } = await client.request({ method: "GET", path, headers: { cookie } });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}`);
  return text;
}

async function measurePages(client: Client, facts: ConsoleFacts): Promise<string[]> {
  const linked = async (path: string, link: RegExp) => link.exec(await fetchPage(client, facts, path))![1]!;
  const all = [
    ...PAGES,
    await linked("/invoices?outcome=recovered", /class="id" href="(\/invoices\/[^"]+)"/),
    await linked("/deliveries", /href="(\/deliveries\/[0-9a-f-]{36})"/),
  ];
  for (const path of all) {
    const taken: number[] = [];
    let bytes = 0;
    for (let round = -WARM_UP; round < samples; round++) {
      const beganMs = performance.now();
      bytes = Buffer.byteLength(await fetchPage(client, facts, path));
      if (round >= 0) taken.push(performance.now() - beganMs);
    }
    const limit = path.startsWith("/overview") ? OVERVIEW_P50_MS : ACTIONS_P50_MS;
    const p50 = median(taken);
    const figure = `p50 ${p50.toFixed(1).padStart(7)} ms, most ${Math.max(...taken)
      .toFixed(1)
      .padStart(7)} ms, ${(bytes / 1000).toFixed(1).padStart(5)} kB`;
    reportFigure(path, figure, p50 <= limit && bytes <= PAGE_BYTES);
  }
  return all;
}

/** Transfer sizes, and when the browser has painted the overview. */
async function measurePaint({ origin, cookie }: ConsoleFacts, paths: readonly string[]) {
  const browser = await launchChromium();
  const context = await browser.newContext({ ignoreHTTPSErrors: true, baseURL: origin });
  const [name, value] = [SESSION_COOKIE, cookie.slice(SESSION_COOKIE.length + 1)];
  await context.addCookies([{ name, value, url: origin, httpOnly: true, secure: true, sameSite: "Lax" }]);
  const page = await context.newPage();
  const most = { path: "", bytes: 0 };
  for (const path of paths) {
    const session = await context.newCDPSession(page);
    await session.send("Network.enable");
    await session.send("Network.clearBrowserCache");
    let bytes = 0;
    session.on("Network.loadingFinished", ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await page.goto(path, { waitUntil: "load" });
    await session.detach();
    if (bytes > most.bytes) Object.assign(most, { path, bytes });
  }
  reportFigure(
    `transfer of a page with style and script; largest: ${most.path.slice(0, 40)}`,
    `${(most.bytes / 1000).toFixed(1)} kB`,
    most.bytes <= PAGE_BYTES,
  );
  const empty = await medianPaintMs(page, "/healthz");
  const overview = await medianPaintMs(page, "/overview?period=12w");
  reportFigure(
    "first paint of the overview, median",
    `${overview.toFixed(0)} ms (an empty page: ${empty.toFixed(0)} ms)`,
    overview <= PAINT_MS,
  );
  await browser.close();
}

async function medianPaintMs(page: Page, path: string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < samples / 2; round++) times.push(await measureFirstPaintMs(page, path));
  return median(times);
}

/** Memory must not grow with an exported file. */
async function measureExport(client: Client, { cookie }: ConsoleFacts) {
  const { statusCode, body } = await client.request({ method: "GET", path: "/actions.csv", headers: { cookie } });
  if (statusCode !== 200) throw new Error(`/actions.csv answered ${statusCode}`);
  const beganMs = performance.now();
  let [lines, bytes, early, most] = [0, 0, 0, 0];
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    for (const byte of chunk) if (byte === 10) lines++;
    if (Math.floor(bytes / 16e6) === Math.floor((bytes - chunk.length) / 16e6)) continue;
    const rss = await service.ask<number>("memory");
    if (early === 0) early = rss;
    most = Math.max(most, rss);
  }
  const seconds = (performance.now() - beganMs) / 1000;
  const growth = Math.max(0, most - early);
  reportFigure(
    `CSV of ${(lines - 1).toLocaleString("en")} actions`,
    `${seconds.toFixed(0)} s, ${(bytes / 1e6).toFixed(0)} MB, memory ${(early / 1e6).toFixed(0)} MB early, at most ${(most / 1e6).toFixed(0)} MB`,
    growth <= bytes * EXPORT_MEMORY_RATIO,
  );
}
